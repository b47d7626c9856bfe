// Package prover judges candidates by a real Envoy that serves nothing: it receives
// the resources over delta xDS, with listeners that do not bind, and what it refuses is
// refused before a serving proxy sees it.
package prover
