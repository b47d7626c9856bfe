// Package derive evaluates collections derived from a store.View, and evaluates
// them again for another View at the cost of what differs.
//
// A Graph is built once from four operators: Input names a collection of the
// View; Map (and Expand, which yields several values a key) runs one pure
// function per key; Group indexes a collection by buckets; Reduce runs one pure
// function per bucket. Functions read other collections and buckets through Ctx,
// which records each read. Eval takes an earlier State and a View and returns the
// State for that View: a value, so a trial is an Eval whose result is dropped.
//
// Laws, tested over generated edit histories:
//   - Eval from any earlier State equals Eval from the empty State;
//   - which functions run depends on the change and its dependents only;
//   - States of two branches do not influence each other;
//   - a Delta applied to the old outputs gives the new outputs.
//
// The package never blocks, logs, or reads a clock or a random source.
package derive
