package schema

import (
	"math"
	"regexp"
	"unicode/utf8"

	structural_schema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// form is what a schema asks of the types, ranges and lengths of one place and of
// all places under it. It answers one question, and fast: does a value fit? What is
// wrong with one that does not is left to the library's validator, which makes ten
// objects for each field of a document.
//
// Law: a form says yes only where the library's validator finds nothing. It says
// no also where it does not know.
type form struct {
	known   bool
	kind    string
	asks    structural_schema.ValueValidation
	pattern *regexp.Regexp
	enum    map[any]bool // texts and integers; nil: any
	fields  map[string]*form
	items   *form
	values  *form // of a mapping without fixed fields
}

// formOf compiles the form of a schema.
func formOf(s *structural_schema.Structural) *form {
	f := &form{kind: s.Type}
	if s.ValueValidation != nil {
		f.asks = *s.ValueValidation
	}
	f.known = !s.XIntOrString && !s.XEmbeddedResource && plainly(f.asks) && f.compileText()
	if s.Items != nil {
		f.items = formOf(s.Items)
	}
	if more := s.AdditionalProperties; more != nil && more.Structural != nil {
		f.values = formOf(more.Structural)
	} else if more != nil && !more.Bool {
		f.known = false
	}
	f.fields = make(map[string]*form, len(s.Properties))
	for name, property := range s.Properties {
		f.fields[name] = formOf(&property)
	}
	return f
}

// plainly reports whether a form can judge everything that a place asks.
func plainly(v structural_schema.ValueValidation) bool {
	return (v.Format == "" || v.Format == "int32" || v.Format == "int64") && v.MultipleOf == nil && !v.UniqueItems &&
		!v.ExclusiveMinimum && !v.ExclusiveMaximum && len(v.AllOf)+len(v.AnyOf)+len(v.OneOf) == 0 && v.Not == nil
}

func (f *form) compileText() (ok bool) {
	if f.asks.Pattern != "" {
		var err error
		if f.pattern, err = regexp.Compile(f.asks.Pattern); err != nil {
			return false
		}
	}
	if len(f.asks.Enum) > 0 {
		f.enum = map[any]bool{}
	}
	for _, v := range f.asks.Enum {
		switch v := v.Object.(type) {
		case string, int64:
			f.enum[v] = true
		case float64: // as encoding/json reads it
			f.enum[int64(v)] = v == math.Trunc(v)
		default:
			return false
		}
	}
	return true
}

// fits reports whether a value has the form.
func (f *form) fits(value any) bool {
	if !f.known {
		return false
	}
	switch value := value.(type) {
	case string:
		return f.kind == "string" && (f.enum == nil || f.enum[value]) && f.fitsText(value)
	case int64:
		return f.kind == "integer" && (f.enum == nil || f.enum[value]) && f.fitsInteger(value)
	case bool:
		return f.kind == "boolean" && f.enum == nil
	case []any:
		return f.kind == "array" && f.enum == nil && f.fitsList(value)
	case map[string]any:
		return f.kind == "object" && f.enum == nil && f.fitsMapping(value)
	}
	return false // null, fractions
}

func (f *form) fitsText(text string) bool {
	if f.asks.MinLength != nil || f.asks.MaxLength != nil {
		if !inRange(utf8.RuneCountInString(text), f.asks.MinLength, f.asks.MaxLength) {
			return false
		}
	}
	return f.pattern == nil || f.pattern.MatchString(text)
}

func (f *form) fitsInteger(n int64) bool {
	exact := n > -1<<53 && n < 1<<53 // as a fraction, which limits are
	small := f.asks.Format != "int32" || n >= math.MinInt32 && n <= math.MaxInt32
	return exact && small && (f.asks.Minimum == nil || float64(n) >= *f.asks.Minimum) && (f.asks.Maximum == nil || float64(n) <= *f.asks.Maximum)
}

func (f *form) fitsList(items []any) bool {
	if f.items == nil || !inRange(len(items), f.asks.MinItems, f.asks.MaxItems) {
		return false
	}
	for _, item := range items {
		if !f.items.fits(item) {
			return false
		}
	}
	return true
}

func (f *form) fitsMapping(m map[string]any) bool {
	if !inRange(len(m), f.asks.MinProperties, f.asks.MaxProperties) {
		return false
	}
	for _, name := range f.asks.Required {
		if _, has := m[name]; !has {
			return false
		}
	}
	for name, value := range m {
		inner := f.fields[name]
		if inner == nil {
			inner = f.values
		}
		if inner != nil && !inner.fits(value) {
			return false
		}
	}
	return true
}

// inRange reports whether n is in a range of which each end may be open.
func inRange(n int, low, high *int64) bool {
	return (low == nil || int64(n) >= *low) && (high == nil || int64(n) <= *high)
}
