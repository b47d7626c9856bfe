// Package script turns the YAML text of a laboratory script into a checked
// lab.Timeline: which backends come and go, when, and how they end.
//
// Parse reads and checks a text; Timeline lays it out over a duration. What is wrong
// is reported with file and line, all of a file at once. A timeline that comes out is
// in order, removes only what is there and adds only what is not, so that models and
// runs need not check again. The package takes bytes; it reads no file and no clock.
// The format is documented in docs/lab-scripts.md.
package script
