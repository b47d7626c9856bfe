package provider

import "context"

// Op is what is asked of a provider.
type Op string

// The calls of [Provider] and [CreateOutcome].
const (
	OpCreate      Op = "create"
	OpGet         Op = "get"
	OpDelete      Op = "delete"
	OpFind        Op = "find"
	OpList        Op = "list"
	OpCreateError Op = "create_error"
)

// around makes a call, or does not. On is what the call is about: a name, an ID, a UID
// or a cluster.
type around func(ctx context.Context, op Op, on string, call func(ctx context.Context) error) error

// decorate returns p with every call, also those of its accounts, made by around. It
// tells outcomes of creates if p does.
func decorate(p Provider, a around) Provider {
	d := decorated{p, a}
	if o, ok := p.(CreateOutcome); ok {
		return telling{d, o}
	}
	return d
}

type decorated struct {
	inner  Provider
	around around
}

func (d decorated) Create(ctx context.Context, r CreateRequest) (got Instance, err error) {
	err = d.around(ctx, OpCreate, r.Name, func(ctx context.Context) error {
		got, err = d.inner.Create(ctx, r)
		return err
	})
	return got, err
}

func (d decorated) Get(ctx context.Context, id string) (got Instance, err error) {
	err = d.around(ctx, OpGet, id, func(ctx context.Context) error {
		got, err = d.inner.Get(ctx, id)
		return err
	})
	return got, err
}

func (d decorated) Delete(ctx context.Context, id string) error {
	return d.around(ctx, OpDelete, id, func(ctx context.Context) error { return d.inner.Delete(ctx, id) })
}

func (d decorated) Find(ctx context.Context, cluster, uid string) (found []Instance, err error) {
	err = d.around(ctx, OpFind, uid, func(ctx context.Context) error {
		found, err = d.inner.Find(ctx, cluster, uid)
		return err
	})
	return found, err
}

func (d decorated) ListByTag(ctx context.Context, cluster string) (all []Instance, err error) {
	err = d.around(ctx, OpList, cluster, func(ctx context.Context) error {
		all, err = d.inner.ListByTag(ctx, cluster)
		return err
	})
	return all, err
}

// Configured implements [Configurable].
func (d decorated) Configured(config map[string][]byte) (Provider, error) {
	p, err := Configured(d.inner, config)
	if err != nil {
		return nil, err
	}
	return decorate(p, d.around), nil
}

// telling is decorated over a provider that knows outcomes.
type telling struct {
	decorated
	outcome CreateOutcome
}

// CreateError implements [CreateOutcome].
func (t telling) CreateError(ctx context.Context, id, operation string) error {
	return t.around(ctx, OpCreateError, id, func(ctx context.Context) error { return t.outcome.CreateError(ctx, id, operation) })
}
