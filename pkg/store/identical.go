package store

import "reflect"

// Identical reports whether two values are the same by ==: the same pointer, or
// equal comparable values. Values that cannot be compared are not identical.
func Identical(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	t := reflect.TypeOf(a)
	switch {
	case t != reflect.TypeOf(b):
		return false
	case t.Kind() == reflect.Pointer:
		return a == b
	default:
		return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
	}
}
