// Package egress is the super-proxy: one address for every client, that goes to each
// target by a proxy which it leases for that.
//
// It is the forward proxy of package forward with other answers to two questions. Who is
// let in: who has an egress token; the user name asks for a lease. How a target is reached:
// by the leased proxy, or by another one if that fails before the first byte. What goes by
// a lease ends with it. A connection is served by one goroutine, which blocks on the lease
// API and on proxies, for a bounded time each.
package egress
