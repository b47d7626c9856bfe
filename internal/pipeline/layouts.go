package pipeline

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// layouts remember for the evaluation how each table is looked up, and since when.
// A table that changes is there both ways until connections have drained, so that
// none meets an old answer; and it does not change again for a while.
type layouts struct {
	// Drain is how long connections may use an earlier way; Hold, at least as long,
	// how long a table stays as it is.
	Drain, Hold time.Duration
	since       map[model.TableID]time.Time // changes that are remembered
	known       map[model.TableID]model.Layout
}

// follow takes what a round decided, and returns what the next is to know.
func (l *layouts) follow(delta derive.Delta, tables derive.Collection[model.RouteTable], now time.Time) []store.Edit {
	var edits []store.Edit
	for c := range derive.Changes(delta, tables) {
		id := model.TableID(c.Key)
		last, known := l.known[id]
		switch {
		case !c.Has:
			delete(l.known, id)
			delete(l.since, id)
			edits = append(edits, layoutEdit(id, nil))
		case !known:
			edits = append(edits, l.set(id, model.Layout{Scoped: c.New.Scoped}))
		case last.Scoped != c.New.Scoped:
			l.since[id] = now
			edits = append(edits, l.set(id, model.Layout{Scoped: c.New.Scoped, Leaving: true, Held: true}))
		}
	}
	return edits
}

// due returns what is to be known of tables whose time has come.
func (l *layouts) due(now time.Time) []store.Edit {
	var edits []store.Edit
	for id, since := range l.since {
		next := l.known[id]
		next.Leaving, next.Held = now.Before(since.Add(l.Drain)), now.Before(since.Add(l.Hold))
		if !next.Held && !next.Leaving {
			delete(l.since, id)
		}
		if next != l.known[id] {
			edits = append(edits, l.set(id, next))
		}
	}
	return edits
}

// next is when something is due.
func (l *layouts) next() (time.Time, bool) {
	var first time.Time
	for id, since := range l.since {
		at := since.Add(l.Hold)
		if l.known[id].Leaving {
			at = since.Add(l.Drain)
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first, !first.IsZero()
}

func (l *layouts) set(id model.TableID, layout model.Layout) store.Edit {
	l.known[id] = layout
	return layoutEdit(id, layout)
}

func layoutEdit(id model.TableID, value any) store.Edit {
	return store.Edit{Collection: model.LayoutCollection, Name: string(id), Value: value}
}
