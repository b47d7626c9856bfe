package derive

import (
	"slices"
	"strings"
)

// Group indexes src: each value is a member of the buckets that f names (each at most once). f is
// pure and reads nothing else.
func Group[S any](g *Graph, name string, src Collection[S], f func(key string, v S) []string) Index[S] {
	return Index[S]{g.add(&node{
		name: name, kind: groupNode, src: src.node,
		buckets: func(key string, v any) []string { return f(key, as[S](v)) },
	})}
}

// bucketChange is what an evaluation changed in one bucket.
type bucketChange struct {
	bucket    string
	old, now  int    // how many members
	first     string // the least member that joined, left or changed
	rank      int    // of first among the members
	regrouped bool   // whether a member joined or left
}

func (b *bucketChange) existed() bool { return b.old > 0 }

func (b *bucketChange) exists() bool { return b.now > 0 }

// concerns tells whether the question of a port has another answer.
func (b *bucketChange) concerns(p port) bool {
	switch p.mode {
	case readExists:
		return b.existed() != b.exists()
	case readSize:
		return b.old != b.now
	case readFirst:
		return b.rank < int(p.first)
	case readKeys:
		return b.regrouped
	default:
		return true
	}
}

// evaluateGroup moves the changed members of a Group between buckets.
func (e *evaluation) evaluateGroup(n *node) {
	t := &e.next.tables[n.id]
	r := regrouping{evaluation: e, table: t, changes: map[string]*bucketChange{}}
	for _, c := range e.changes[n.src.stored().id] {
		old, _ := t.member.Get(c.key)
		now := e.bucketsOf(n, c)
		r.move(c.key, old, now)
		if !slices.Equal(old, now) {
			put(e, &t.member, c.key, now, len(now) > 0)
		}
	}
	e.touched[n.id] = r.settled()
}

// bucketsOf returns which buckets a changed member belongs to now, in order.
func (e *evaluation) bucketsOf(n *node, c change) []string {
	if !c.has {
		e.setFault(n, c.key, nil)
		return nil
	}
	var buckets []string
	e.work.Functions[n.name]++
	fault := protect(n, c.key, func() {
		buckets = slices.Clone(n.buckets(c.key, n.src.shown(c.key, c.new)))
	})
	e.setFault(n, c.key, fault)
	slices.Sort(buckets)
	return slices.Compact(buckets)
}

// regrouping is how members of one Group move between its buckets. They come in key order.
type regrouping struct {
	*evaluation
	table   *table
	changes map[string]*bucketChange
}

// move takes a member from its old buckets to those that it belongs to now.
func (r *regrouping) move(member string, old, now []string) {
	for _, bucket := range old {
		if b := r.touch(bucket, member); !slices.Contains(now, bucket) {
			b.regrouped = true
			members, _ := r.table.buckets.Get(bucket)
			members = members.DeleteIn(r.draft, member)
			put(r.evaluation, &r.table.buckets, bucket, members, members.Len() > 0)
		}
	}
	for _, bucket := range now {
		if b := r.touch(bucket, member); !slices.Contains(old, bucket) {
			b.regrouped = true
			members, _ := r.table.buckets.Get(bucket)
			put(r.evaluation, &r.table.buckets, bucket, members.SetIn(r.draft, member, struct{}{}), true)
		}
	}
}

// touch notes that a member of a bucket joins, leaves or changes.
func (r *regrouping) touch(bucket, member string) *bucketChange {
	b := r.changes[bucket]
	if b == nil {
		members, _ := r.table.buckets.Get(bucket)
		b = &bucketChange{bucket: bucket, old: members.Len(), first: member}
		r.changes[bucket] = b
	}
	return b
}

// settled returns the changed buckets in order.
func (r *regrouping) settled() []bucketChange {
	changes := make([]bucketChange, 0, len(r.changes))
	for _, b := range r.changes {
		members, _ := r.table.buckets.Get(b.bucket)
		b.now, b.rank = members.Len(), members.Rank(b.first)
		changes = append(changes, *b)
	}
	slices.SortFunc(changes, func(a, b bucketChange) int { return strings.Compare(a.bucket, b.bucket) })
	return changes
}
