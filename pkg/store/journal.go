package store

const (
	// generation is how many batches a View remembers at least; twice that at most.
	generation = 64
	// fewKeys is up to how many keys it is cheaper to look up what was edited than
	// to compare the roots.
	fewKeys = 64
)

// identity tells Views apart without keeping their values alive.
type identity struct{ revision Revision }

// entry is one batch: the View that it was applied to, and the keys that it
// changed, unless these are too many to be of use.
type entry struct {
	parent   *identity
	keys     []Key
	many     bool
	previous *entry
}

// journal is the recent batches in two generations, so that appending is O(1) and
// what is dropped can be collected.
type journal struct {
	recent, older *entry
	batches       int // in recent
}

func (j journal) append(parent *identity, keys []Key) journal {
	many := len(keys) > fewKeys
	if many {
		keys = nil
	}
	if j.batches == generation {
		j = journal{older: j.recent}
	}
	j.recent = &entry{parent: parent, keys: keys, many: many, previous: j.recent}
	j.batches++
	return j
}

// since walks back to the View with this identity. It returns every key that was
// changed since, some more than once. descends is false when that View is no
// ancestor or is forgotten; few is false when the keys are not all returned.
func (j journal) since(ancestor *identity) (keys []Key, descends, few bool) {
	few = true
	for _, e := range []*entry{j.recent, j.older} {
		for ; e != nil; e = e.previous {
			if few = few && !e.many && len(keys)+len(e.keys) <= fewKeys; few {
				keys = append(keys, e.keys...)
			}
			if e.parent == ancestor {
				return keys, true, few
			}
			if e.parent.revision <= ancestor.revision {
				return nil, false, false
			}
		}
	}
	return nil, false, false
}
