package derive

import (
	"math"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Ctx is how a function reads other collections; each read is recorded, so that
// the function runs again when, and only when, the answer changes. A function may
// read only what was defined before it: anything else panics out of Eval, as does
// reading after the function has returned.
type Ctx struct {
	run  *evaluation // nil once the function has returned
	node *node
	key  string

	reads []read
	wants []store.Key
}

// record notes a read of a cell and returns the State to answer it from.
func (c *Ctx) record(of *node, r read) *state {
	switch {
	case c.run == nil:
		panic(misuse("%q %q reads after its function has returned", c.node.name, c.key))
	case of == nil || of.graph != c.node.graph:
		panic(misuse("%q reads a collection of another graph", c.node.name))
	case of.id >= c.node.id:
		panic(misuse("%q reads %q, which is defined later: define it first", c.node.name, of.name))
	}
	r.target = uint16(of.stored().id)
	c.reads = append(c.reads, r)
	return c.run.next
}

// Get reads the value of a key. Of an on-demand value it reads the metadata; see [Body].
func Get[V any](c *Ctx, from Collection[V], key string) (V, bool) {
	v, ok := c.record(from.node, read{mode: readValue, cell: key}).value(from.node, key)
	return as[V](v), ok
}

// Has reads whether a key exists, and not its value.
func Has[V any](c *Ctx, from Collection[V], key string) bool {
	return c.record(from.node, read{mode: readHas, cell: key}).has(from.node, key)
}

// Presence tells what reading a body found.
type Presence uint8

// What reading a body found.
const (
	Absent  Presence = iota // there is no such value
	Unread                  // the value exists and its body is wanted: evaluate again once it is filled
	Present                 // the body is returned
)

// Body reads the body of an on-demand value of an input; that of any other value
// is the value itself. An unread body is recorded in Result.Wants.
func Body[V any](c *Ctx, from Collection[V], key string) (V, Presence) {
	s := c.record(from.node, read{mode: readValue, cell: key})
	v, ok := s.raw(from.node, key)
	var none V
	if !ok {
		return none, Absent
	}
	if o, onDemand := v.(*store.OnDemand); onDemand {
		if v, ok = o.Body(); !ok {
			c.wants = append(c.wants, store.Key{Collection: from.node.name, Name: key})
			return none, Unread
		}
	}
	return as[V](v), Present
}

// Prefix reads all values whose key starts with prefix, in order.
func Prefix[V any](c *Ctx, from Collection[V], prefix string) []Item[V] {
	s := c.record(from.node, read{mode: readPrefix, cell: prefix})
	var items []Item[V]
	for key, v := range s.prefix(from.node, prefix) {
		items = append(items, Item[V]{key, as[V](v)})
	}
	c.run.work.Members += len(items)
	return items
}

// Exists reads whether a bucket has members.
func Exists[V any](c *Ctx, from Index[V], bucket string) bool {
	s := c.record(from.node, read{mode: readExists, cell: bucket})
	return s.bucket(from.node, bucket).Len() > 0
}

// Size reads how many members a bucket has.
func Size[V any](c *Ctx, from Index[V], bucket string) int {
	s := c.record(from.node, read{mode: readSize, cell: bucket})
	return s.bucket(from.node, bucket).Len()
}

// First reads the first k members of a bucket in key order.
func First[V any](c *Ctx, from Index[V], bucket string, k int) []Item[V] {
	s := c.record(from.node, read{mode: readFirst, first: int32(min(k, math.MaxInt32)), cell: bucket})
	return members[V](c, s, from.node, bucket, k)
}

// All reads every member of a bucket in key order.
func All[V any](c *Ctx, from Index[V], bucket string) []Item[V] {
	s := c.record(from.node, read{mode: readAll, cell: bucket})
	return members[V](c, s, from.node, bucket, s.bucket(from.node, bucket).Len())
}

// Keys reads the member keys of a bucket in order, and not their values.
func Keys[V any](c *Ctx, from Index[V], bucket string) []string {
	s := c.record(from.node, read{mode: readKeys, cell: bucket})
	var keys []string
	for key := range s.bucket(from.node, bucket).All() {
		keys = append(keys, key)
	}
	c.run.work.Members += len(keys)
	return keys
}

// members returns the first k members of a bucket.
func members[V any](c *Ctx, s *state, index *node, bucket string, k int) []Item[V] {
	var items []Item[V]
	for key := range s.bucket(index, bucket).All() {
		if len(items) >= k {
			break
		}
		v, _ := s.value(index.src, key)
		items = append(items, Item[V]{key, as[V](v)})
	}
	c.run.work.Members += len(items)
	return items
}
