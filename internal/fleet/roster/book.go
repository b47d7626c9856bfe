package roster

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

var _ offer.Book = (*Roster)(nil)

// book has the Offers in order. It is put in order when it is read after a change, so
// that an event costs nothing and a list what a list costs.
type book struct {
	mu      sync.Mutex
	offers  map[types.NamespacedName]*offer.Offer
	ordered []*offer.Offer // never changed once made; nil after a change
	keys    []types.NamespacedName
}

func (b *book) put(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.offers == nil {
		b.offers = map[types.NamespacedName]*offer.Offer{}
	}
	if _, known := b.offers[e.key]; !known {
		b.keys = nil
	}
	b.offers[e.key], b.ordered = e.offer, nil
}

func (b *book) remove(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.offers, key)
	b.keys, b.ordered = nil, nil
}

func (b *book) all() []*offer.Offer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keys == nil {
		b.keys = make([]types.NamespacedName, 0, len(b.offers))
		for key := range b.offers {
			b.keys = append(b.keys, key)
		}
		slices.SortFunc(b.keys, func(x, y types.NamespacedName) int {
			return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
		})
	}
	if b.ordered == nil {
		b.ordered = make([]*offer.Offer, len(b.keys))
		for i, key := range b.keys {
			b.ordered[i] = b.offers[key]
		}
	}
	return b.ordered
}

// All implements [offer.Book].
func (r *Roster) All() iter.Seq[*offer.Offer] { return slices.Values(r.book.all()) }

// ByUID implements [offer.Book].
func (r *Roster) ByUID(uid string) *offer.Offer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.byUID[uid]; e != nil {
		return e.offer
	}
	return nil
}
