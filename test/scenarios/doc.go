// Package scenarios runs stories: one txtar file each, with the objects that go
// in, and side by side what becomes of them: the verdicts, the model, the Envoy
// configuration, and the status as an API server would hold it.
//
// The comment of a story says what to look at. A line "secrets: NAME ..." in it
// reads files of the directory secrets as well; "features.experimental: true" and
// "features.xbackend: false" set switches. Outputs leave out what is empty, and
// name in one line, as_usual, the fields of Envoy's resources that are the same
// everywhere; "output: whole" shows them.
//
// Every scenario's Envoy configuration is accepted by a real Envoy. "go test
// ./test/scenarios -update" rewrites the outputs and docs/reference/outcomes.md:
// review them against the Gateway API specification.
package scenarios
