package store

// OnDemand is a value whose metadata is known and whose body is read only when
// something asks for it. It is immutable: [View.Fill] makes a View that has the
// body, and the body stays with that View whatever becomes of the live object.
type OnDemand struct {
	meta    any
	version string
	body    any
}

// Unread returns an on-demand value without its body. Version names the exact
// content, for example a resourceVersion; Meta is what is known of it.
func Unread(meta any, version string) *OnDemand { return &OnDemand{meta: meta, version: version} }

// Meta returns what is known without the body.
func (o *OnDemand) Meta() any { return o.meta }

// Version returns which content the value stands for.
func (o *OnDemand) Version() string { return o.version }

// Body returns the body, or false while it is unread.
func (o *OnDemand) Body() (any, bool) { return o.body, o.body != nil }

// Fill returns the View in which the on-demand value of a key has its body, which
// must not be nil and must be that of the version that v has. A value that is
// filled already keeps its body.
//
// It returns v and a [*FillError] when v has no such value or there is no body,
// and v and a [*StaleError] when v has another version of the value.
func (v View) Fill(k Key, version string, body any) (View, error) {
	value, ok := v.Get(k)
	o, onDemand := value.(*OnDemand)
	switch {
	case !ok:
		return v, &FillError{Key: k, Err: ErrAbsent}
	case !onDemand:
		return v, &FillError{Key: k, Err: ErrNotOnDemand}
	case body == nil:
		return v, &FillError{Key: k, Err: ErrNoBody}
	case o.version != version:
		return v, &StaleError{Key: k, Have: o.version, Got: version}
	case o.body != nil:
		return v, nil
	}
	return v.Apply(Edit{Key: k, Value: &OnDemand{meta: o.meta, version: version, body: body}}), nil
}
