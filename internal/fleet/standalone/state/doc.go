// Package state keeps the Proxies of a fleet without a cluster in a directory: what an
// API server would hold of them, and the random ID that their instances are labelled
// with. It is the [reconcile.Objects] of files, without the Secrets.
//
// What it promises:
//   - A change is on the disk before anybody sees it. Whoever opens the directory after
//     a crash at any moment finds each Proxy as it was before or after a change.
//   - A directory belongs to one process at a time.
//   - A record that cannot be read is an error of Open, never a Proxy less: to forget a
//     Proxy is to leave its instance behind.
//
// The directory has cluster.json, lock, and proxies/UID.json, one for each Proxy.
package state
