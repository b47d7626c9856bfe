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
	first  int32 // how many members, of readFirst
}

// read is one recorded read: of the cell (a key, prefix or bucket) of the node target.
type read struct {
	cell   string
	first  int32
	target uint16
	mode   mode
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
func (e *edge) add(in *evaluation, cell, key string) {
	readers, _ := e.cells.Get(cell)
	put(in, &e.cells, cell, readers.SetIn(in.draft, key, struct{}{}), true)
}

// remove undoes add.
func (e *edge) remove(in *evaluation, cell, key string) {
	readers, _ := e.cells.Get(cell)
	readers = readers.DeleteIn(in.draft, key)
	put(in, &e.cells, cell, readers, readers.Len() > 0)
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
