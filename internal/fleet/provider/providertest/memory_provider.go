package providertest

import (
	"context"
	"fmt"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// memoryProvider is what one operator sees of a [Memory].
type memoryProvider struct {
	*Memory
	cluster string
}

// begin waits while the world hangs, and takes its lock. The caller unlocks it.
func (p *memoryProvider) begin(ctx context.Context, unavailable Fault) error {
	p.mu.Lock()
	p.init()
	hangs := p.has(Hangs)
	if !hangs && ctx.Err() == nil {
		return p.answer(unavailable)
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	return fmt.Errorf("%w: %w", provider.ErrTransient, context.Cause(ctx))
}

func (p *memoryProvider) Create(ctx context.Context, r provider.CreateRequest) (provider.Instance, error) {
	err := p.begin(ctx, CreateUnavailable)
	defer p.mu.Unlock()
	if err != nil {
		return provider.Instance{}, err
	}
	id := "zones/" + r.Zone + "/" + r.Name
	it := p.instances[id]
	switch {
	case it == nil:
		it = p.add(p.make(id, r))
	case it.Cluster != r.Cluster || it.UID != r.UID:
		return provider.Instance{}, fmt.Errorf("%w: the name %s is taken by an instance that is not ours", provider.ErrPermanent, r.Name)
	case it.deleting:
		return provider.Instance{}, fmt.Errorf("%w: %s is being deleted", provider.ErrTransient, r.Name)
	}
	if p.has(CreateLost) {
		return provider.Instance{}, errLost
	}
	return p.seen(it), nil
}

func (p *memoryProvider) make(id string, r provider.CreateRequest) machine {
	it := machine{
		ID: id, Name: r.Name, Cluster: r.Cluster, UID: r.UID, Hash: provider.LabelHash(r.Hash),
		CreatedAt: p.now(), Operation: "operation-" + strconv.Itoa(p.made),
	}
	for _, f := range []Fault{QuotaLater, StockoutLater} {
		if p.has(f) {
			it.doomed = fmt.Errorf("%w: fault %s", provider.ErrQuotaExceeded, f)
		}
	}
	return it
}

// CreateError implements [provider.CreateOutcome].
func (p *memoryProvider) CreateError(_ context.Context, _, operation string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended[operation]
}

// own returns the instance with that ID if it is of this fleet. Called with the lock.
func (p *memoryProvider) own(id string) *machine {
	if it := p.instances[id]; it != nil && it.Cluster == p.cluster {
		return it
	}
	return nil
}

func (p *memoryProvider) Get(ctx context.Context, id string) (provider.Instance, error) {
	err := p.begin(ctx, GetUnavailable)
	defer p.mu.Unlock()
	if err != nil {
		return provider.Instance{}, err
	}
	it := p.own(id)
	if it == nil || p.has(GetDenies) {
		return provider.Instance{}, fmt.Errorf("%w: %q", provider.ErrNotFound, id)
	}
	return p.seen(it), nil
}

func (p *memoryProvider) Delete(ctx context.Context, id string) error {
	err := p.begin(ctx, DeleteUnavailable)
	defer p.mu.Unlock()
	if err != nil {
		return err
	}
	if it := p.own(id); it != nil {
		it.deleting = true
	}
	if p.has(DeleteLost) {
		return errLost
	}
	return nil
}

func (p *memoryProvider) Find(ctx context.Context, cluster, uid string) ([]provider.Instance, error) {
	all, err := p.ListByTag(ctx, cluster)
	var found []provider.Instance
	for _, it := range all {
		if it.UID == uid {
			found = append(found, it)
		}
	}
	return found, err
}

func (p *memoryProvider) ListByTag(ctx context.Context, cluster string) ([]provider.Instance, error) {
	err := p.begin(ctx, ListUnavailable)
	defer p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var all []provider.Instance
	seen := make(map[string]bool)
	for _, page := range p.pages() {
		for _, it := range page {
			if it.Cluster == cluster && !seen[it.ID] {
				seen[it.ID] = true
				all = append(all, it)
			}
		}
	}
	if p.has(ListPartial) {
		return all, &provider.PartialError{Scopes: []string{"zones/c"}, Err: fmt.Errorf("%w: unreachable", provider.ErrTransient)}
	}
	return all, nil
}
