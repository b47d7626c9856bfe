package store

import "reflect"

// Identical reports whether two values are the same: by ==, so by identity for
// pointers; or by reflect.DeepEqual for what == is not defined for, such as a
// slice. Functions are never identical.
func Identical(a, b any) bool {
	t := reflect.TypeOf(a)
	switch {
	case t != reflect.TypeOf(b):
		return false
	case t == nil, t.Kind() == reflect.Pointer, reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable():
		return a == b
	default:
		return reflect.DeepEqual(a, b)
	}
}
