// Package hop reaches targets by way of one proxy: HTTP in clear or inside TLS, with
// CONNECT, or SOCKS5, each with the proxy's credentials.
//
// Every call blocks until its context ends at most. Errors say whether the proxy failed or
// the target did, in words for the client of a super-proxy, and never tell a password.
package hop
