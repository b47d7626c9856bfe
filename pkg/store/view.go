package store

import "iter"

// View is the immutable set of all values at one revision. The zero View is empty.
type View struct{}

// Edit sets the value of a key, or deletes it when Value is nil.
type Edit struct {
	Key
	Value any
}

// Change is one difference between two Views. Old or New is nil where the key is absent.
type Change struct {
	Key
	Old, New any
}

// Revision returns how many batches led to the View.
func (v View) Revision() Revision { panic("todo") }

// Get returns the value of a key.
func (v View) Get(k Key) (any, bool) { panic("todo") }

// Len returns how many values a collection has.
func (v View) Len(collection string) int { panic("todo") }

// Prefix yields the values of a collection whose names start with prefix, in order of name.
func (v View) Prefix(collection, prefix string) iter.Seq2[string, any] { panic("todo") }

// Apply returns the View after one atomic batch. Later edits of a key win. Edits
// that set the identical value are no changes; a batch without changes returns v.
func (v View) Apply(batch ...Edit) View { panic("todo") }

// Substitute returns a branch of v in which the keys have the values that from has for them.
func (v View) Substitute(from View, keys ...Key) View { panic("todo") }

// DescendsFrom reports whether ancestor is v or one of the Views that v was made from.
func (v View) DescendsFrom(ancestor View) bool { panic("todo") }

// Diff yields the differences from a to b in key order.
func Diff(a, b View) iter.Seq[Change] { panic("todo") }
