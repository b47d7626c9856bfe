//go:build !race

package lifecycle

// limit is how many times as long as SHA-256 the hash of a spec may take.
const limit = 1.2
