// Package live shows what a running instance does: as lines for people on a
// terminal, or as log records elsewhere. Either way the addresses and the word
// "ready" go to standard output.
package live
