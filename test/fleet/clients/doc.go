// Package clients tests the clients of the lease API, of Go and of Python, against the real
// API: what they say and understand, and what becomes of leases when answers are lost. The
// real binary, proxies, crawlers and browsers are in tests of their own here.
package clients
