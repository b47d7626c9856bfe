// Package compile turns Gateway API objects into the model, and decides for
// every object what becomes of it.
//
// It is a set of small pure functions over derived collections: per listener,
// per route and parent, per host, per backend, per certificate. Where Gateway API
// defines an outcome it is served; what the specification leaves open is a
// Failure. It never blocks, logs, or reads a clock.
package compile
