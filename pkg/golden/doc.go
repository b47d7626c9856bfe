// Package golden compares what a test made with named sections of txtar files,
// so that a scenario's input and all its outputs stand side by side in one file
// that a person can review.
//
// "go test -update" rewrites the compared sections and leaves everything else,
// comments and inputs, as it is.
package golden
