// Package rig runs the real gatehouse binary for tests, benchmarks and the demo:
// it starts an instance on free ports, waits until it is ready, asks it
// questions, sends requests through its proxies, and ends it with nothing left
// behind. It returns errors and leaves failing to its callers.
package rig
