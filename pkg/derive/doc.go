// Package derive evaluates collections derived from a store.View, and evaluates
// them again for another View at the cost of what differs.
//
// # Graph
//
// A [Graph] is built once. [Input] names a collection of the View. [Map] runs one
// pure function per key, and [Expand] one that yields several values. [Group]
// indexes a collection by buckets, and [Reduce] runs one pure function per bucket.
// [Project] shows a collection differently without storing it, [Union] several as
// one, and [Merge] one over another.
//
// # Reads
//
// A function reads other collections through its [Ctx], which records each read:
//
//	reads       answer                      asked again when
//	Get         a value                     it changes
//	Has         whether a key exists        it comes or goes
//	Body        an on-demand body           it changes; wanted while it is unread
//	Prefix      all values of a key range   one of them changes, comes or goes
//	Exists      whether a bucket has any    its first member comes, its last goes
//	Size        how many it has             their number changes
//	First       its first k members         one of these changes, comes or goes
//	Keys        its members' keys           one comes or goes
//	All         its members                 one changes, comes or goes
//
// Ask the narrowest question: a function that asks [Exists] of a service with 3,000
// routes does not run when the 3,001st arrives. Evaluation stops where a value
// equals the one before; see [EqualFunc].
//
// # States
//
// [Graph.Eval] takes an earlier [State] and a View, and returns the State for that
// View and the [Delta] between the two. A State is a value, so a trial is an Eval
// whose result is dropped, and going back is an Eval with an older View. States
// and Graphs may be used by any number of goroutines at once.
//
// A function that panics leaves its key without a value and a [Fault] that stands
// until the function runs again. Errors in how a Graph is built or read, such as
// reading what is defined later, are no Faults: they panic out of Eval.
//
// # Laws
//
// They are tested over generated histories with branches, against plain maps:
//   - Eval from any earlier State equals Eval from the empty State, in values,
//     buckets, faults, wants and recorded reads;
//   - a function runs when, and only when, its source or an answer to its reads changed;
//   - States of two branches do not influence each other;
//   - a Delta applied to the old outputs gives the new outputs.
//
// What a function is given and returns is shared between States and must not be
// changed. The package never blocks, logs, or reads a clock or a random source.
package derive
