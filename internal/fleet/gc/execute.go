package gc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// execute looks a last time at what each victim is judged by, past any cache, and
// deletes those of the same verdict. An error means that Proxies cannot be read, and
// that the victims left over were spared.
func (s *Sweeper) execute(ctx context.Context, victims []Victim) error {
	current, err := s.current(ctx, victims)
	if err != nil {
		return err
	}
	for _, v := range victims {
		owner := current[types.UID(v.UID)]
		if v.Verdict == Duplicate {
			if owner, err = s.owner(ctx, v); err != nil {
				return err
			}
		}
		if got := s.Judge(v.Sighting, owner, s.Now()); got != v.Verdict {
			s.Log.Info("an instance is spared: a last look finds it "+string(got), attributes(v)...)
			s.Recorder.InstanceSwept(v.Provider, string(v.Verdict), "spared")
			continue
		}
		s.kill(ctx, v)
	}
	return nil
}

// current reads which Proxies there are, if there is an orphan among the victims. One
// reading after the choice does for all of them: the UID of an object that is gone
// never comes back.
func (s *Sweeper) current(ctx context.Context, victims []Victim) (map[types.UID]*egress_v1alpha1.Proxy, error) {
	if !slices.ContainsFunc(victims, func(v Victim) bool { return v.Verdict == Orphan }) {
		return nil, nil //nolint:nilnil // nobody is judged by it
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	proxies, err := s.Objects.CurrentProxies(ctx)
	if err != nil {
		return nil, fmt.Errorf("read all Proxies: %w", err)
	}
	return byUID(proxies), nil
}

// owner reads the Proxy of a duplicate; nil when it is gone, which leaves the instance
// to a later sweep.
func (s *Sweeper) owner(ctx context.Context, v Victim) (*egress_v1alpha1.Proxy, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	owner, err := s.Objects.Current(ctx, v.Proxy)
	if errors.Is(err, reconcile.ErrNoObject) {
		return nil, nil //nolint:nilnil // an absent object is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("read Proxy %s: %w", v.Proxy, err)
	}
	return owner, nil
}

// kill deletes one instance and says so.
func (s *Sweeper) kill(ctx context.Context, v Victim) {
	if s.DryRun {
		s.Log.Warn("an instance would be deleted, but for --gc-dry-run", attributes(v)...)
		s.Recorder.InstanceSwept(v.Provider, string(v.Verdict), "dry_run")
		return
	}
	s.Log.Warn("deleting an instance that nobody owns", attributes(v)...)
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := s.Providers[v.Provider].Delete(ctx, v.ID); err != nil {
		s.memory.failed(v.identity())
		s.Log.Error("an instance that nobody owns cannot be deleted", append(attributes(v), observe.KeyError, err)...)
		s.Recorder.InstanceSwept(v.Provider, string(v.Verdict), "failed")
		return
	}
	s.Recorder.InstanceSwept(v.Provider, string(v.Verdict), "deleted")
}

func attributes(v Victim) []any {
	with := []any{observe.KeyReason, string(v.Verdict), observe.KeyProvider, v.Provider, observe.KeyInstance, v.ID, observe.KeyUID, v.UID}
	if v.Verdict == Duplicate {
		with = append(with, observe.KeyObject, v.Proxy.String())
	}
	return with
}
