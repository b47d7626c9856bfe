package store

// A View remembers at least the last generation of batches and at most two; a
// generation ends after that many batches or keys, whichever comes first.
const (
	generationBatches = 64
	generationKeys    = 4096
)

// identity tells Views apart without keeping their values alive.
type identity struct{ revision Revision }

// entry is one batch: the View that it was applied to, and the keys that it changed.
type entry struct {
	parent   *identity
	keys     []Key
	tooMany  bool // keys are not kept: comparing roots costs no more
	previous *entry
}

// journal is the recent batches in two generations, so that appending is O(1) and
// what is dropped can be collected.
type journal struct {
	recent, older *entry
	batches, keys int // in recent
}

func (j journal) append(parent *identity, keys []Key) journal {
	tooMany := len(keys) > generationKeys
	if tooMany {
		keys = nil
	}
	if j.batches >= generationBatches || j.keys+len(keys) > generationKeys {
		j = journal{older: j.recent}
	}
	j.recent = &entry{parent: parent, keys: keys, tooMany: tooMany, previous: j.recent}
	j.batches++
	j.keys += len(keys)
	return j
}

// since walks back to the View with this identity. It returns every key that was
// changed since, some more than once. descends is false when that View is no
// ancestor or is forgotten; complete is false when some keys were not kept.
func (j journal) since(ancestor *identity) (keys []Key, descends, complete bool) {
	complete = true
	for _, e := range []*entry{j.recent, j.older} {
		for ; e != nil; e = e.previous {
			keys = append(keys, e.keys...)
			complete = complete && !e.tooMany
			if e.parent == ancestor {
				return keys, true, complete
			}
			if e.parent.revision <= ancestor.revision {
				return nil, false, false
			}
		}
	}
	return nil, false, false
}
