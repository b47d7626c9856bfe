package derive

import (
	"fmt"
	"slices"
	"strings"
)

// RecordedReads prints every recorded read of a State, forwards and backwards.
func RecordedReads(s State) string {
	var b strings.Builder
	for id, t := range s.tables() {
		for key, reads := range t.reads.All() {
			fmt.Fprintf(&b, "%d %q reads %v\n", id, key, reads)
		}
		var lines []string
		for _, e := range t.edges {
			for cell, readers := range e.cells.All() {
				for key := range readers.All() {
					lines = append(lines, fmt.Sprintf("%d %q is read by %v %q\n", id, cell, e.port, key))
				}
			}
		}
		b.WriteString(strings.Join(slices.Sorted(slices.Values(lines)), ""))
	}
	return b.String()
}

// SameEdges tells that forward and backward records of reads agree.
func SameEdges(s State) error {
	forward, backward := 0, 0
	for _, t := range s.tables() {
		for _, reads := range t.reads.All() {
			forward += len(reads)
		}
		for _, e := range t.edges {
			for _, readers := range e.cells.All() {
				backward += readers.Len()
			}
		}
	}
	if forward != backward {
		return fmt.Errorf("%d reads recorded, %d of them backwards", forward, backward)
	}
	return nil
}
