// Package xdsserve serves xDS resources to proxies over delta ADS: changes of
// resources go in, one stream per proxy comes out, each in the order that makes
// before it breaks, and a ledger says what every proxy has acknowledged or refused.
//
// It knows the resource types of Envoy's xDS and nothing of what they are made
// from: origins are opaque strings that come back with a refusal. It owns one
// goroutine per stream that decides and sends, and one that reads; a slow proxy
// delays nobody else, and Publish waits for none.
//
// Order. Secrets and clusters go first, the endpoints of each cluster right
// behind it, unasked; then listeners and tables; what is no longer used leaves
// last, after a grace. "Used" counts what a proxy has, may have, is being sent and
// will get, so a cluster outlives the last table that needs it at that proxy, and
// stays if the proxy refuses the table's move. Only a cluster that is SlowToWarm is
// waited for, only by what begins to use it, and only for WarmTimeout; of a table
// that a proxy has, only by the parts that do.
//
// Refusals. A proxy refuses a response as a whole. Its resources are then sent
// again one by one: the culprit stays with the version that the proxy had and is
// not sent again until it changes or Retry is called; the others are acknowledged.
//
// Reconnects. A proxy says which versions it has; equal ones are not sent again,
// also by a Server that has just started. What an earlier stream left in doubt is
// remembered, sent again, and withdrawn explicitly where it is no longer published.
// A changed cluster waits for the proxy to ask for its endpoints, which have to
// follow it.
//
// Limits. A proxy acknowledges clusters only when none is warming, so one that
// never resolves delays what the ledger says of all clusters of its proxy, though
// not what the proxy is sent. After a restart of the Server the uses of versions
// that are not published any more are unknown: clusters that they might use leave
// once the proxy has taken their successors. And a secret that was refused before
// the restart is then acknowledged, though the proxy keeps what it had.
package xdsserve
