// Package snapshot names the kinds of objects that Gatehouse observes, as
// collections of a store.View, and gives typed access to them.
//
// Values of the view are pointers to the API types, defaulted and validated,
// and never changed after they entered it. It does no I/O.
package snapshot
