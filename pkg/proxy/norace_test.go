//go:build !race

package proxy

const poolsForget = false
