// Package pipeline is the loop that joins the stages: changes from a source are
// observed, a round of acceptance evaluates and judges them, what was accepted is
// published, and what the proxies answer is joined with it when someone asks why.
//
// It is the only package that sees all stages. One goroutine owns the state; what
// readers see is published as immutable values and small locked maps.
package pipeline
