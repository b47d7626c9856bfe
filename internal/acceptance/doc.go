// Package acceptance decides which observed revisions take effect.
//
// A revision is observed when a source saw it, and accepted once a complete
// evaluation that includes it passed every check. A round tries everything
// observed together; what a check refuses is withheld, object by object as the
// refusal names them, and keeps its previous accepted revision, while the rest
// advances. Nothing is published that did not come out of a round.
//
// It knows no kinds and no routing: evaluation and checks are passed in. It never
// blocks, logs, or reads a clock.
package acceptance
