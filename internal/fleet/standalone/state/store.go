package state

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

type proxy = egress_v1alpha1.Proxy

func keyOf(p *proxy) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// Record returns what is kept of a Proxy, or nil. It must not be changed.
func (s *Store) Record(key types.NamespacedName) *Record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.records[key]
}

// Records returns all that are kept, in order of name. They must not be changed.
func (s *Store) Records() []*Record {
	s.mu.RLock()
	out := make([]*Record, 0, len(s.records))
	for _, r := range s.records {
		out = append(out, r)
	}
	s.mu.RUnlock()
	slices.SortFunc(out, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Proxy.Namespace, b.Proxy.Namespace), cmp.Compare(a.Proxy.Name, b.Proxy.Name))
	})
	return out
}

// Proxy implements [reconcile.Objects].
func (s *Store) Proxy(_ context.Context, key types.NamespacedName) (*proxy, error) {
	r := s.Record(key)
	if r == nil {
		return nil, noObject(key)
	}
	return r.Proxy.DeepCopy(), nil
}

// Current implements [reconcile.Objects]; there is no cache to read past.
func (s *Store) Current(ctx context.Context, key types.NamespacedName) (*proxy, error) {
	return s.Proxy(ctx, key)
}

// Proxies implements [reconcile.Objects].
func (s *Store) Proxies(context.Context) ([]*proxy, error) {
	records := s.Records()
	out := make([]*proxy, len(records))
	for i, r := range records {
		out[i] = r.Proxy
	}
	return out, nil
}

// CurrentProxies returns all; there is no cache to read past.
func (s *Store) CurrentProxies(ctx context.Context) ([]*proxy, error) { return s.Proxies(ctx) }

// PatchMetadata implements [reconcile.Objects]. A Proxy that is being deleted and has
// no finalizer any more is gone.
func (s *Store) PatchMetadata(ctx context.Context, base, p *proxy) error {
	return s.patch(ctx, p, func(r *Record) error {
		if !slices.Equal(r.Proxy.Finalizers, base.Finalizers) {
			return fmt.Errorf("finalizers of Proxy %s: %w", keyOf(p), reconcile.ErrConflict)
		}
		r.Proxy.Finalizers = slices.Clone(p.Finalizers)
		r.annotate(base.Annotations, p.Annotations)
		return nil
	})
}

// PatchStatus implements [reconcile.Objects]. Nobody else writes a status, so that all
// of it is what p says.
func (s *Store) PatchStatus(ctx context.Context, _, p *proxy) error {
	return s.patch(ctx, p, func(r *Record) error {
		p.Status.DeepCopyInto(&r.Proxy.Status)
		return nil
	})
}

// patch changes the record of p, which must be the same object, and gives p the new
// resource version.
func (s *Store) patch(ctx context.Context, p *proxy, change func(*Record) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key := keyOf(p)
	after, err := s.update(key, func(before *Record) (*Record, error) {
		if before == nil || before.Proxy.UID != p.UID {
			return nil, noObject(key)
		}
		after := before.copy()
		return after, change(after)
	})
	if err == nil && after != nil {
		p.ResourceVersion = after.Proxy.ResourceVersion
	}
	return err
}

// update puts another record, or none, in the place of one; on the disk first. It
// returns what is kept now.
func (s *Store) update(key types.NamespacedName, change func(before *Record) (*Record, error)) (*Record, error) {
	writing := &s.writing[maphash.Comparable(s.seed, key)%uint64(len(s.writing))]
	writing.Lock()
	defer writing.Unlock()
	before := s.Record(key)
	after, err := change(before)
	if err != nil || before != nil && after != nil && equality.Semantic.DeepEqual(before, after) {
		return before, err
	}
	if after != nil && after.Proxy.DeletionTimestamp != nil && len(after.Proxy.Finalizers) == 0 {
		after = nil
	}
	if err := s.write(before, after); err != nil {
		return before, fmt.Errorf("state of Proxy %s: %w", key, err)
	}
	s.keep(key, after)
	s.changed(key)
	return after, nil
}

func (s *Store) keep(key types.NamespacedName, r *Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r == nil {
		delete(s.records, key)
	} else {
		s.records[key] = r
	}
}

func (s *Store) write(before, after *Record) error {
	if after == nil {
		if before == nil {
			return nil
		}
		return s.disk.Remove(s.path(string(before.Proxy.UID)))
	}
	after.Proxy.ResourceVersion = "1"
	if before != nil {
		n, _ := strconv.ParseInt(before.Proxy.ResourceVersion, 10, 64) // ours
		after.Proxy.ResourceVersion = strconv.FormatInt(n+1, 10)
	}
	content, err := seal(after)
	if err != nil {
		return err
	}
	return s.disk.Replace(s.path(string(after.Proxy.UID)), content)
}

// copy returns a record that may be changed.
func (r *Record) copy() *Record {
	out := *r
	out.Proxy = r.Proxy.DeepCopy()
	out.Written = maps.Clone(r.Written)
	if out.Written == nil {
		out.Written = map[string]string{}
	}
	return &out
}

// annotate writes the annotations that differ from base.
func (r *Record) annotate(base, now map[string]string) {
	for k := range base {
		if _, stays := now[k]; !stays {
			delete(r.Written, k)
			delete(r.Proxy.Annotations, k)
		}
	}
	for k, v := range now {
		if old, was := base[k]; was && old == v {
			continue
		}
		r.Written[k] = v
		if r.Proxy.Annotations == nil {
			r.Proxy.Annotations = map[string]string{}
		}
		r.Proxy.Annotations[k] = v
	}
}

func noObject(key types.NamespacedName) error {
	return fmt.Errorf("Proxy %s: %w", key, reconcile.ErrNoObject)
}
