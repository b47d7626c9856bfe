package store

import "slices"

// Edit sets the value of a key, or deletes it when Value is nil.
type Edit struct {
	Key
	Value any
}

// Apply returns the View after one atomic batch. Later edits of a key win. Edits
// that set the identical value are no changes; a batch without changes returns v.
func (v View) Apply(batch ...Edit) View {
	d := draft{base: v.state(), collections: v.state().collections}
	for _, edit := range lastOfEachKey(batch) {
		d.apply(edit)
	}
	if len(d.changed) == 0 {
		return v
	}
	return d.view()
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

// draft is a View in the making; edits come in key order.
type draft struct {
	base        *state
	collections Map[string, Map[string, any]]
	name        string // of the collection that values are of
	values      Map[string, any]
	changed     []Key
}

func (d *draft) apply(edit Edit) {
	if edit.Collection != d.name || len(d.changed) == 0 {
		d.open(edit.Collection)
	}
	old, _ := d.values.Get(edit.Name)
	if Identical(old, edit.Value) {
		return
	}
	d.changed = append(d.changed, edit.Key)
	if edit.Value == nil {
		d.values = d.values.Delete(edit.Name)
	} else {
		d.values = d.values.Set(edit.Name, edit.Value)
	}
}

func (d *draft) open(collection string) {
	d.close()
	d.name = collection
	d.values, _ = d.collections.Get(collection)
}

func (d *draft) close() {
	switch {
	case len(d.changed) == 0:
	case d.values.Len() == 0:
		d.collections = d.collections.Delete(d.name)
	default:
		d.collections = d.collections.Set(d.name, d.values)
	}
}

func (d *draft) view() View {
	d.close()
	made := &identity{revision: d.base.identity.revision + 1}
	return View{&state{
		collections: d.collections,
		identity:    made,
		journal:     d.base.journal.append(d.base.identity, d.changed),
	}}
}
