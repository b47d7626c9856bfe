//go:build race

package proxy

// The race detector makes sync.Pool forget at random, crypto/tls's too.
const poolsForget = true
