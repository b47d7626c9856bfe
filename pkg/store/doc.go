// Package store is a persistent keyed store: an immutable, structurally shared
// [View] of all values at one revision, cheap to change into the next View, safe
// to read from any goroutine, and able to tell what differs between two Views at
// the cost of the differences.
//
//	view.Apply(edits...)           the next View, one atomic batch later
//	view.Substitute(other, keys…)  a branch, for a trial
//	view.Fill(key, version, body)  a View that has read an on-demand value
//	Diff(a, b)                     what differs, in either direction
//
// Views remember their recent batches, so that a View and its ancestor are
// compared by what was edited between them; all others are compared by the trees
// that they share. No View keeps the values of its ancestors alive.
//
// It knows nothing about what the values are. It never blocks, logs, or reads a clock.
package store
