// Package backend makes small servers that say who they are and what reached
// them, so that a client of a proxy can tell where its request went and what
// happened to it on the way. Each owns its goroutines; Close waits for them.
package backend
