// Package egress tests the super-proxy from outside: the real binaries, a fleet of real
// proxies that targets see apart, and the clients that people use.
package egress
