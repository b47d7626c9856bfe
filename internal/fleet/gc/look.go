package gc

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

const (
	// callTime bounds each call of a sweep. A list of many pages is the longest.
	callTime = 2 * time.Minute
	// maxAsks bounds how often a list is asked for again that our own limit refused.
	maxAsks = 10
)

// look asks every provider for its instances, and says whether all of them, and all
// their scopes, have answered. What could be seen counts also where the rest could not.
func (s *Sweeper) look(ctx context.Context, now time.Time) (seen []Sighting, complete bool) {
	if s.memory == nil {
		s.memory = make(memory)
	}
	complete = true
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		l := s.list(ctx, name)
		if l.err != nil {
			complete = false
			s.Log.Warn("a list of instances is not complete", observe.KeyProvider, name, observe.KeyTotal, len(l.instances), observe.KeyError, l.err)
		}
		seen = append(seen, s.memory.see(l, now)...)
	}
	return seen, complete
}

// list asks one provider, again while our own limit refuses: a sweep has time.
func (s *Sweeper) list(ctx context.Context, name string) list {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for asked := 1; ; asked++ {
		instances, err := s.Providers[name].ListByTag(ctx, s.Cluster)
		if _, partial := errors.AsType[*provider.PartialError](err); err != nil && !partial {
			instances = nil
		}
		throttled, again := errors.AsType[*provider.ThrottledError](err)
		if !again || asked == maxAsks || !pause(ctx, throttled.After) {
			return list{provider: name, instances: instances, err: err}
		}
	}
}

// pause returns false when ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (s *Sweeper) proxies(ctx context.Context) ([]*egress_v1alpha1.Proxy, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return s.Objects.Proxies(ctx)
}
