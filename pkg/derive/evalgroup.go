package derive

import (
	"slices"
	"strings"
)

// bucketChange is what an evaluation changed in one bucket.
type bucketChange struct {
	bucket    string
	old, now  int    // members
	first     string // least member that joined, left or changed
	rank      int    // of first among the members
	regrouped bool   // whether a member joined or left
}

func (b *bucketChange) existed() bool { return b.old > 0 }

func (b *bucketChange) exists() bool { return b.now > 0 }

// concerns tells whether the change has another answer to the question of a port.
func (b *bucketChange) concerns(p port) bool {
	switch p.mode {
	case readExists:
		return b.existed() != b.exists()
	case readSize:
		return b.old != b.now
	case readFirst:
		return b.rank < p.first
	case readKeys:
		return b.regrouped
	default:
		return true
	}
}

// evaluateGroup moves the changed members of a Group between buckets.
func (e *evaluation) evaluateGroup(n *node) {
	t := &e.next.tables[n.id]
	touched := map[string]*bucketChange{}
	for _, c := range e.changes[n.src.stored().id] {
		old, _ := t.member.Get(c.key)
		now := e.bucketsOf(n, c)
		for _, bucket := range old {
			t.touch(touched, bucket, c.key)
			if !slices.Contains(now, bucket) {
				t.leave(touched[bucket], c.key)
			}
		}
		for _, bucket := range now {
			t.touch(touched, bucket, c.key)
			if !slices.Contains(old, bucket) {
				t.join(touched[bucket], c.key)
			}
		}
		t.setMember(c.key, old, now)
	}
	e.touched[n.id] = t.settle(touched)
}

func (t *table) setMember(key string, old, now []string) {
	switch {
	case slices.Equal(old, now):
	case len(now) > 0:
		t.member = t.member.Set(key, now)
	default:
		t.member = t.member.Delete(key)
	}
}

// bucketsOf returns which buckets a changed member belongs to now, in order.
func (e *evaluation) bucketsOf(n *node, c change) []string {
	if !c.has {
		e.setFault(n, c.key, Fault{}, false)
		return nil
	}
	var buckets []string
	e.work.Functions[n.name]++
	fault, faulted := protect(n, c.key, func() {
		buckets = slices.Clone(n.buckets(c.key, n.src.shown(c.key, c.new)))
	})
	e.setFault(n, c.key, fault, faulted)
	slices.Sort(buckets)
	return slices.Compact(buckets)
}

// touch notes that a member of a bucket joins, leaves or changes. Members come in order.
func (t *table) touch(touched map[string]*bucketChange, bucket, member string) {
	if touched[bucket] == nil {
		members, _ := t.buckets.Get(bucket)
		touched[bucket] = &bucketChange{bucket: bucket, old: members.Len(), first: member}
	}
}

func (t *table) join(b *bucketChange, member string) {
	b.regrouped = true
	members, _ := t.buckets.Get(b.bucket)
	t.buckets = t.buckets.Set(b.bucket, members.Set(member, struct{}{}))
}

func (t *table) leave(b *bucketChange, member string) {
	b.regrouped = true
	members, _ := t.buckets.Get(b.bucket)
	if members = members.Delete(member); members.Len() == 0 {
		t.buckets = t.buckets.Delete(b.bucket)
	} else {
		t.buckets = t.buckets.Set(b.bucket, members)
	}
}

// settle returns the changed buckets in order.
func (t *table) settle(touched map[string]*bucketChange) []bucketChange {
	changes := make([]bucketChange, 0, len(touched))
	for _, b := range touched {
		members, _ := t.buckets.Get(b.bucket)
		b.now, b.rank = members.Len(), members.Rank(b.first)
		changes = append(changes, *b)
	}
	slices.SortFunc(changes, func(a, b bucketChange) int { return strings.Compare(a.bucket, b.bucket) })
	return changes
}
