// Package scenarios runs stories: one txtar file each, with the objects that go
// in, and side by side what becomes of them: the model, the Envoy configuration,
// the status as an API server would hold it, and the verdicts.
//
// Every scenario's Envoy configuration is accepted by a real Envoy. "go test
// ./test/scenarios -update" rewrites the outputs.
package scenarios
