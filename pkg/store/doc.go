// Package store is a persistent keyed store: an immutable, structurally shared
// View of all values at one revision, cheap to change into the next View, safe
// to read from any goroutine, and able to tell what differs between two Views at
// the cost of the differences.
//
// It knows nothing about what the values are. It never blocks, logs, or reads a clock.
package store
