package model

// LayoutCollection is the collection of a view that holds a Layout for each
// TableID. The evaluation decides how tables are looked up and remembers nothing;
// its owner puts what it decided back, so that a decision can depend on the last one.
const LayoutCollection = "gatehouse.dev/Layout"

// Layout is how a table was looked up last.
type Layout struct {
	Scoped bool
	// Leaving tells that connections may still use the other way.
	Leaving bool
	// Held tells that the way may not change yet.
	Held bool
}
