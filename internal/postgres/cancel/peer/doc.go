// Package peer lets the replicas of a router find the session of a CancelRequest that
// came to the wrong one of them: it asks all others once, and answers what they ask.
//
// A question is one packet over TCP, sealed with a key that the replicas share, and so
// is its answer. What comes from a peer is looked up here and never asked on, so that
// no question can go round. A question that is not sealed with the shared key, is too
// old, or has been heard before is dropped without an answer, and counted.
//
// Ask blocks for AskTimeout at most. How many questions are under way, in either
// direction, is bounded.
package peer
