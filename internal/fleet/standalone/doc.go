// Package standalone is the shell of a fleet without a cluster: it watches a directory
// of Proxy and Secret documents, keeps what becomes of them in a state directory, and
// calls the core for every Proxy that may need a step.
//
// It never takes a fault for a wish. A document that is refused keeps the spec that was
// accepted before; a directory that is missing or empty deletes nothing; and more than
// half of all Proxies go at once only where that is allowed.
package standalone
