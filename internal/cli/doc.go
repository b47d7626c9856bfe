// Package cli is the command line: it parses arguments into validated values,
// calls app or asks a running instance over the admin API, and renders the answer.
// Data goes to standard output, everything else to standard error; the exit code
// is 0 on success, 1 on a failure or a failed check, 2 on wrong usage.
package cli
