package derive

// Ctx is how a function reads other collections; each read is recorded, so that
// the function runs again when, and only when, the answer changes. A function may
// read only what was defined before it. Reading after the function has returned panics.
type Ctx struct{}

// Get reads the value of a key.
func Get[V any](c *Ctx, from Collection[V], key string) (V, bool) { panic("todo") }

// Has reads whether a key exists, and not its value.
func Has[V any](c *Ctx, from Collection[V], key string) bool { panic("todo") }

// Prefix reads all values whose key starts with prefix, in order.
func Prefix[V any](c *Ctx, from Collection[V], prefix string) []Item[V] { panic("todo") }

// Exists reads whether a bucket has members.
func Exists[V any](c *Ctx, from Index[V], bucket string) bool { panic("todo") }

// Size reads how many members a bucket has.
func Size[V any](c *Ctx, from Index[V], bucket string) int { panic("todo") }

// First reads the first k members of a bucket in key order.
func First[V any](c *Ctx, from Index[V], bucket string, k int) []Item[V] { panic("todo") }

// All reads every member of a bucket in key order.
func All[V any](c *Ctx, from Index[V], bucket string) []Item[V] { panic("todo") }

// Keys reads the member keys of a bucket in order, and not their values.
func Keys[V any](c *Ctx, from Index[V], bucket string) []string { panic("todo") }
