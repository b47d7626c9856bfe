package store

import (
	"cmp"
	"strings"
)

// Key names one value: the collection that it lives in, and its name there.
// Keys order by collection, then by name, bytewise.
type Key struct {
	Collection string
	Name       string
}

// Compare orders keys; it is negative when k comes before other.
func (k Key) Compare(other Key) int {
	return cmp.Or(strings.Compare(k.Collection, other.Collection), strings.Compare(k.Name, other.Name))
}

func (k Key) String() string { return k.Collection + " " + k.Name }

// Revision counts the batches that led to a View; the empty View has revision 0.
type Revision uint64
