// Package xds publishes resources to proxies: it serves delta ADS on a Unix
// socket, and queues what proxies answer for the pipeline's loop, so that no
// stream ever waits for the loop and the loop never waits for a proxy.
package xds
