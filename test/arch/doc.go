// Package arch tests the shape of the repository: who may depend on whom with
// indirect imports included, documentation of every package, lengths of files and
// functions, words that must not occur, and that no outdated idiom is left.
//
// Each rule gives its reason; a rule that no longer has one goes.
package arch
