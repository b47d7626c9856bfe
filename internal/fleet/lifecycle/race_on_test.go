//go:build race

package lifecycle

// limit is how many times as long as SHA-256 the hash of a spec may take. The race
// detector watches our code and not that of SHA-256, which is assembly.
const limit = 4.0
