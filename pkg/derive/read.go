package derive

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// mode is what a function read: which question about a cell, and so which changes
// change the answer.
type mode uint8

const (
	readValue  mode = iota // of a key
	readHas                // whether the key exists
	readPrefix             // all keys with a prefix
	readExists             // whether a bucket has members
	readSize               // how many
	readFirst              // its first members
	readKeys               // all its members' keys
	readAll                // all its members
)

// port is a question that functions of one node ask about cells of another.
type port struct {
	reader int
	mode   mode
	first  int // how many members, of readFirst
}

// read is one recorded read: of the cell (a key, prefix or bucket) of the node target.
type read struct {
	target int
	mode   mode
	first  int
	cell   string
}

func (r read) compare(other read) int {
	return cmp.Or(cmp.Compare(r.target, other.target), cmp.Compare(r.mode, other.mode),
		cmp.Compare(r.first, other.first), strings.Compare(r.cell, other.cell))
}

// set is an ordered set of keys.
type set = store.Map[string, struct{}]

// edge is who asked a question: cell → keys of the reader.
type edge struct {
	port
	cells store.Map[string, set]
}

// add records that the reader's key asked about cell.
func (e *edge) add(cell, key string) {
	readers, _ := e.cells.Get(cell)
	e.cells = e.cells.Set(cell, readers.Set(key, struct{}{}))
}

// remove undoes add.
func (e *edge) remove(cell, key string) {
	readers, _ := e.cells.Get(cell)
	if readers = readers.Delete(key); readers.Len() == 0 {
		e.cells = e.cells.Delete(cell)
	} else {
		e.cells = e.cells.Set(cell, readers)
	}
}

// eachPrefixOf yields the readers of every prefix of key.
func (e *edge) eachPrefixOf(key string, yield func(readers set)) {
	for i := range len(key) + 1 {
		if readers, ok := e.cells.Get(key[:i]); ok {
			yield(readers)
		}
	}
}

// sortReads returns reads in order, each once.
func sortReads(reads []read) []read {
	slices.SortFunc(reads, read.compare)
	return slices.Compact(reads)
}

// diffReads yields the reads of only one of two ordered lists.
func diffReads(old, now []read, removed, added func(read)) {
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].compare(now[0]) < 0:
			removed(old[0])
			old = old[1:]
		case len(old) == 0 || now[0].compare(old[0]) < 0:
			added(now[0])
			now = now[1:]
		default:
			old, now = old[1:], now[1:]
		}
	}
}
