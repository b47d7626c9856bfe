// Package acceptance decides which observed revisions take effect.
//
// A revision is observed when a source saw it, and accepted once a complete
// evaluation that includes it passed every check and every validator. A round
// tries everything observed together. When that is refused, the objects that the
// refusal names are withheld; what is still refused is halved until each bad
// object, or set of objects that are bad only together, stands alone. What is
// withheld keeps its previous accepted revision, or stays inactive if there is
// none, while everything independent of it advances. Nothing is published that
// did not come out of a round.
//
// # Laws
//
// They are tested over generated histories with planted faults:
//   - soundness: every state that a round returns passed every check;
//   - independence: an object that depends on no bad one is accepted in the same round;
//   - maximality: no rejected object could be added to what was accepted;
//   - isolation: no trial changes what was observed or accepted;
//   - convergence: repair releases an object in the next round;
//   - order: the result does not depend on the order in which changes were captured;
//     of objects that are bad only together the older stays;
//   - cost: Decision.Trials is bounded by the number of bad objects, not by that of
//     objects; standing rejections cost none. The exception is where not even the
//     view without any object is valid: then parts are left out in turn, down to each
//     object alone;
//   - admission: what is admitted the next round over that view accepts; of what is not,
//     that round rejects the proposal or something it conflicts with;
//   - restart: with what was accepted recalled, the first round of a process is the one
//     that the earlier process would have made with all rejections reconsidered; what is
//     recalled is judged as anything observed;
//   - fallbacks: what Rules.Fallback does not let stay never serves while the observed
//     revision is withheld, and closed is absent; what is not valid without it is
//     closed, too.
//
// It knows no kinds and no routing: evaluation, checks and validators are passed
// in. It never logs or reads a clock, and blocks only where a validator does.
package acceptance
