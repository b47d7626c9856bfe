// Package process is the provider of instances that are processes of this machine: each
// a real forward proxy with an address of its own, which it listens at and connects from.
//
// Without a network, the addresses are loopback addresses, and no rights are needed. With
// one, every process has a network namespace with an address of a prefix that belongs to
// this fleet alone, and is that of a user without rights; a bridge joins them to this
// machine. See [Network].
//
// What is known of an instance is in a folder of a directory, and the processes outlive
// whoever started them: the next one that opens the directory finds them. A process holds
// a lock as long as it lives, and has the folder in its environment, so that neither a
// second one is started nor one forgotten, wherever the first was stopped. Namespaces
// and their cables go with the process; the bridge goes with the last instance.
//
// Nothing happens by itself: a deletion goes on whenever somebody looks. No goroutine
// outlives a call. Linux only.
package process

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Options are what a provider is made from.
type Options struct {
	// Dir is the directory of state, which is made if it is not there. Any number of
	// providers may use it at once, one fleet each after the other or several.
	Dir string
	// Cluster is the label of the fleet's instances.
	Cluster string
	// Command is the program and its first arguments; it takes the flags of
	// gatehouse-forward.
	Command []string
	// AllowDestinations are networks that proxies connect to although they would refuse.
	AllowDestinations []netip.Prefix
	// Network gives each instance a namespace; nil for loopback addresses.
	Network *Network
	// Now is the clock that creation times are taken from; time.Now if nil.
	Now func() time.Time
}

// Provider implements [provider.Provider].
type Provider struct {
	options Options
	store   store
	grace   time.Duration // that a process has to end, once told
	hosts   func(netip.Prefix) iter.Seq[netip.Addr]
	// cut, in tests, ends a call at a named point with the error that it returns.
	cut func(point string) error
}

// defaultGrace is when a process that was told to end is ended for good.
const defaultGrace = drainTime + 5*time.Second

// New opens a directory. It removes what is left of instances that are gone.
func New(ctx context.Context, o Options) (*Provider, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	p := &Provider{options: o, store: store{dir: dir}, grace: defaultGrace, hosts: candidates, cut: func(string) error { return nil }}
	if len(o.Command) == 0 {
		return nil, errors.New("no program to start: give the path of gatehouse-forward")
	}
	if o.Network != nil {
		if err := o.Network.check(); err != nil {
			return nil, err
		}
		p.store.owner = nobody
	}
	if err := p.store.make(); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", dir, err)
	}
	return p, p.locked(ctx, func() error {
		if err := p.endStrays(p.store.instances()); err != nil {
			return err
		}
		return p.tidy()
	})
}

// Create implements [provider.Provider]. An instance is there once its folder is: a
// create that was cut short is completed by the next.
func (p *Provider) Create(ctx context.Context, r provider.CreateRequest) (got provider.Instance, err error) {
	if err := check(r); err != nil {
		return got, err
	}
	err = p.locked(ctx, func() error {
		i, err := p.store.read(r.Name)
		switch {
		case errors.Is(err, provider.ErrNotFound):
			i, err = p.begin(r)
		case err == nil && (i.Cluster != r.Cluster || i.UID != r.UID):
			err = fmt.Errorf("%w: the name %s is that of an instance of another fleet in %s", provider.ErrPermanent, r.Name, p.options.Dir)
		case err == nil && !i.Deleting.IsZero():
			err = fmt.Errorf("%w: %s is being deleted", provider.ErrTransient, r.Name)
		}
		if err == nil && !i.started() {
			err = p.start(i)
		}
		if err == nil {
			got = p.look(ctx, i)
		}
		return err
	})
	return got, err
}

// Get implements [provider.Provider].
func (p *Provider) Get(ctx context.Context, id string) (got provider.Instance, err error) {
	err = p.locked(ctx, func() error {
		got, err = p.get(ctx, id)
		return err
	})
	return got, err
}

func (p *Provider) get(ctx context.Context, id string) (provider.Instance, error) {
	i, err := p.own(id)
	if err != nil {
		return provider.Instance{}, err
	}
	if !i.Deleting.IsZero() {
		if gone, err := p.end(i); err != nil {
			return provider.Instance{}, err
		} else if gone {
			return provider.Instance{}, notFound(id)
		}
	}
	return p.look(ctx, i), nil
}

// own reads an instance of this fleet. One without a folder must not have a process.
func (p *Provider) own(id string) (*instance, error) {
	i, err := p.store.read(id)
	switch {
	case err == nil && i.Cluster != p.options.Cluster:
		return nil, notFound(id)
	case errors.Is(err, provider.ErrNotFound) && isName(id):
		if err := p.endStrays(p.store.folder(id)); err != nil {
			return nil, err
		}
	}
	return i, err
}

// Delete implements [provider.Provider].
func (p *Provider) Delete(ctx context.Context, id string) error {
	return p.locked(ctx, func() error {
		i, err := p.own(id)
		if errors.Is(err, provider.ErrNotFound) {
			return nil
		}
		if err == nil {
			err = p.cut("delete")
		}
		if err != nil {
			return err
		}
		if i.Deleting.IsZero() {
			i.Deleting = p.options.Now()
			if err := p.store.write(i); err != nil {
				return err
			}
		}
		if err := p.cut("deleting"); err != nil {
			return err
		}
		if _, err := p.end(i); err != nil {
			return err
		}
		return p.cut("deleted")
	})
}

// Find implements [provider.Provider].
func (p *Provider) Find(ctx context.Context, cluster, uid string) ([]provider.Instance, error) {
	all, err := p.ListByTag(ctx, cluster)
	var found []provider.Instance
	for _, i := range all {
		if i.UID == uid {
			found = append(found, i)
		}
	}
	return found, err
}

// ListByTag implements [provider.Provider].
func (p *Provider) ListByTag(ctx context.Context, cluster string) (all []provider.Instance, err error) {
	err = p.locked(ctx, func() error {
		if err := p.endStrays(p.store.instances()); err != nil {
			return err
		}
		records, unseen, err := p.store.all()
		if err != nil {
			return err
		}
		for _, i := range records {
			if i.Cluster != cluster {
				continue
			}
			if !i.Deleting.IsZero() {
				if gone, err := p.end(i); gone || err != nil {
					unseen.add(i.Name, err)
					continue
				}
			}
			all = append(all, p.look(ctx, i))
		}
		return unseen.error()
	})
	return all, err
}

// locked does something while no other process does anything in the directory.
func (p *Provider) locked(ctx context.Context, do func() error) error {
	unlock, err := lock(ctx, p.store.lockFile())
	if err != nil {
		return classed(fmt.Errorf("state directory %s: %w", p.options.Dir, err))
	}
	defer unlock()
	return classed(do())
}

func notFound(id string) error { return fmt.Errorf("%w: %q", provider.ErrNotFound, id) }

// tidy removes what no instance needs.
func (p *Provider) tidy() error {
	if err := p.store.empty(); err != nil {
		return err
	}
	names, err := p.store.names()
	if err != nil || len(names) > 0 {
		return err
	}
	return p.unbridge()
}

// environment of a process: nothing of ours but what tells whose it is.
func environment(i *instance, folder string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), mark + "=" + folder + ":" + i.Start}
}
