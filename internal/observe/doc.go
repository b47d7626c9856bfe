// Package observe is how Gatehouse is seen from outside while it runs: the keys
// and the set-up of its log, its metrics, whether it lives, and the events that a
// terminal shows. It only takes values in; nothing here decides or blocks.
package observe
