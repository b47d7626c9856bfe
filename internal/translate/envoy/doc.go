// Package envoy turns model values into Envoy resources, one resource per thing,
// each with the objects that it came from. Everything is checked before it
// leaves: protobuf validation, regular expressions, durations, key pairs. A value
// that fails a check is a Failure for its key and holds nothing else back. Pure.
package envoy
