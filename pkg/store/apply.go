package store

import "slices"

// Edit sets the value of a key, or deletes it when Value is nil. The value belongs
// to the View from then on and must not be changed.
type Edit struct {
	Key
	Value any
}

// Apply returns the View after one atomic batch. Later edits of a key win. Edits
// that set an [Identical] value are no changes; a batch without changes returns v.
func (v View) Apply(batch ...Edit) View {
	a := applying{base: v.state(), draft: new(Draft), collections: v.state().collections}
	for _, edit := range lastOfEachKey(batch) {
		a.apply(edit)
	}
	if len(a.changed) == 0 {
		return v
	}
	return a.view()
}

// Substitute returns a branch of v in which the keys have the values that from has for them.
func (v View) Substitute(from View, keys ...Key) View {
	batch := make([]Edit, 0, len(keys))
	for _, k := range keys {
		value, _ := from.Get(k)
		batch = append(batch, Edit{Key: k, Value: value})
	}
	return v.Apply(batch...)
}

// lastOfEachKey returns the edits that win, in key order.
func lastOfEachKey(batch []Edit) []Edit {
	if len(batch) < 2 {
		return batch
	}
	sorted := slices.Clone(batch)
	slices.SortStableFunc(sorted, func(a, b Edit) int { return a.Compare(b.Key) })
	last := sorted[:0]
	for i, edit := range sorted {
		if i+1 == len(sorted) || sorted[i+1].Key != edit.Key {
			last = append(last, edit)
		}
	}
	return last
}

// applying is a View in the making; edits come in key order.
type applying struct {
	base        *state
	draft       *Draft
	collections Map[string, Map[string, any]]
	name        string // of the collection that values are of
	values      Map[string, any]
	changed     []Key
}

func (a *applying) apply(edit Edit) {
	if edit.Collection != a.name || len(a.changed) == 0 {
		a.open(edit.Collection)
	}
	old, _ := a.values.Get(edit.Name)
	if Identical(old, edit.Value) {
		return
	}
	a.changed = append(a.changed, edit.Key)
	if edit.Value == nil {
		a.values = a.values.DeleteIn(a.draft, edit.Name)
	} else {
		a.values = a.values.SetIn(a.draft, edit.Name, edit.Value)
	}
}

func (a *applying) open(collection string) {
	a.close()
	a.name = collection
	a.values, _ = a.collections.Get(collection)
}

func (a *applying) close() {
	switch {
	case len(a.changed) == 0:
	case a.values.Len() == 0:
		a.collections = a.collections.DeleteIn(a.draft, a.name)
	default:
		a.collections = a.collections.SetIn(a.draft, a.name, a.values)
	}
}

func (a *applying) view() View {
	a.close()
	made := &identity{revision: a.base.identity.revision + 1}
	return View{&state{
		collections: a.collections,
		identity:    made,
		journal:     a.base.journal.append(a.base.identity, a.changed),
	}}
}
