// Package bench measures what a change costs from end to end: a file is written,
// and the clock stops at the first answer of a real Envoy that shows it.
//
// The benchmarks run the real binary; `make bench` builds it. docs/benchmarks.md
// has results and says how to read them.
package bench
