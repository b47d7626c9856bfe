// Package index turns Services and EndpointSlices, one change at a time, into
// constant-time answers to where a deployment is served. It says what each change means
// for sessions and what is wrong with a Service, and calls nobody: it takes objects by
// value, keeps only what answers need, and waits for nothing but its mutex.
//
// Its laws: the answers depend on the objects, not on the order in which they came; a
// change costs its own size; and an endpoint is gone when no slice lists it any more.
package index
