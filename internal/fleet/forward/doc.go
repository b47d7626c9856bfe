// Package forward is the forward proxy that runs on the instances of a fleet: HTTP,
// CONNECT and SOCKS5 on one port, in clear or inside TLS.
//
// A connection is served by one goroutine: its first byte says which protocol it
// speaks, its credentials who it is, and what it asks for is carried to a target until
// either side ends it, nothing has passed for long, the lease has ended, or the proxy
// goes away. The package adds nothing that tells a target of the proxy, and tells a
// client why it was refused (RFC 9209). It knows nothing of the control plane.
package forward
