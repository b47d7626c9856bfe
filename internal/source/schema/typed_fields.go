package schema

import (
	"iter"
	"reflect"
	"strings"
)

// jsonField is a field of a Go struct as JSON names it.
type jsonField struct {
	name string
	typ  reflect.Type
}

// jsonFields yields the fields of a struct, those of inlined structs included.
func jsonFields(t reflect.Type) iter.Seq[jsonField] {
	return func(yield func(jsonField) bool) { eachField(t, yield) }
}

func eachField(t reflect.Type, yield func(jsonField) bool) bool {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (name == "" || strings.Contains(options, "inline")):
			if !eachField(f.Type, yield) {
				return false
			}
		case name == "" || name == "-":
		case !yield(jsonField{name, f.Type}):
			return false
		}
	}
	return true
}
