// Package schema turns the text of YAML and JSON documents into API objects,
// validated as an API server would: strict decoding, the kind's OpenAPI schema,
// defaulting, and its CEL rules, transition rules included.
//
// It is a function of bytes and of the previous accepted revision: it reads no
// file, logs nothing, and never panics on any input. What it refuses comes back
// as Problems that name field, line, value, cause and remedy. Definitions are
// compiled when a kind is first met, so that a process pays only for the kinds
// it uses.
package schema
