// Package runner starts components in order and stops them in reverse.
//
// The first failure, a panic included, stops everything that was started, and
// is an error that names its component. Stopping has a deadline: a component
// that misses it is reported and left behind, and the ones before it are still
// stopped.
package runner
