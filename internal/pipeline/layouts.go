package pipeline

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Way is how a table is looked up, and since when, unless that is long ago.
type Way struct {
	Scoped bool      `json:"scoped"`
	Since  time.Time `json:"since,omitzero"`
}

// Equal reports whether two ways are the same.
func (w Way) Equal(other Way) bool { return w.Scoped == other.Scoped && w.Since.Equal(other.Since) }

// Memory keeps the ways of tables for the next process.
type Memory interface {
	// Recall returns what the last process kept; nothing when that cannot be known.
	Recall() map[model.TableID]Way
	// Keep replaces what is kept; it does not wait.
	Keep(map[model.TableID]Way)
}

// layouts remember for the evaluation how each table is looked up, and since when.
// A table that changes is there both ways until connections have drained, so that
// none meets an old answer; and it does not change again for a while.
type layouts struct {
	// Drain is how long connections may use an earlier way; Hold, at least as long,
	// how long a table stays as it is.
	Drain, Hold time.Duration
	since       map[model.TableID]time.Time // changes that are remembered
	known       map[model.TableID]model.Layout
	recalled    map[model.TableID]bool // of an earlier process, until the first round
}

func newLayouts(drain, hold time.Duration) layouts {
	return layouts{
		Drain: drain, Hold: max(hold, drain),
		since: map[model.TableID]time.Time{}, known: map[model.TableID]model.Layout{}, recalled: map[model.TableID]bool{},
	}
}

// recall takes what an earlier process decided, and returns what the first round
// is to know: proxies that outlived that process still look up as it told them.
func (l *layouts) recall(ways map[model.TableID]Way, now time.Time) []store.Edit {
	var edits []store.Edit
	for id, way := range ways {
		l.recalled[id] = true
		layout := model.Layout{Scoped: way.Scoped}
		if !way.Since.IsZero() {
			since := way.Since
			if since.After(now) { // the clock was set back
				since = now
			}
			layout.Leaving, layout.Held = now.Before(since.Add(l.Drain)), now.Before(since.Add(l.Hold))
			if layout.Held {
				l.since[id] = since
			}
		}
		edits = append(edits, l.set(id, layout))
	}
	return edits
}

// ways are what the next process has to know: tables that are not as they would
// be decided anew.
func (l *layouts) ways() map[model.TableID]Way {
	out := map[model.TableID]Way{}
	for id, layout := range l.known {
		if since := l.since[id]; layout.Scoped || !since.IsZero() {
			out[id] = Way{layout.Scoped, since}
		}
	}
	return out
}

// follow takes what a round decided, and returns what the next is to know.
func (l *layouts) follow(delta derive.Delta, tables derive.Collection[model.RouteTable], now time.Time) []store.Edit {
	var edits []store.Edit
	for c := range derive.Changes(delta, tables) {
		id := model.TableID(c.Key)
		last, known := l.known[id]
		delete(l.recalled, id)
		switch {
		case !c.Has:
			edits = append(edits, l.drop(id))
		case !known:
			edits = append(edits, l.set(id, model.Layout{Scoped: c.New.Scoped}))
		case last.Scoped != c.New.Scoped:
			l.since[id] = now
			edits = append(edits, l.set(id, model.Layout{Scoped: c.New.Scoped, Leaving: true, Held: true}))
		}
	}
	for id := range l.recalled { // no longer there when this process began
		edits = append(edits, l.drop(id))
	}
	clear(l.recalled)
	return edits
}

func (l *layouts) drop(id model.TableID) store.Edit {
	delete(l.known, id)
	delete(l.since, id)
	return layoutEdit(id, nil)
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

// forgetful is the Memory of a loop that has none.
type forgetful struct{}

func (forgetful) Recall() map[model.TableID]Way { return nil }
func (forgetful) Keep(map[model.TableID]Way)    {}
