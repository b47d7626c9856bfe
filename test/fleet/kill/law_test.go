package kill_test

import (
	"slices"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// watch checks after each call that it may break that no Proxy has two live instances
// made from the same.
func (sc *scene) watch(o *operator) {
	o.after = func(call string) {
		if call == "create" || call == "delete" {
			sc.lawOfOne(call)
		}
	}
}

func (sc *scene) lawOfOne(where string) {
	type made struct{ uid, hash string }
	live := map[made][]string{}
	for _, i := range sc.instances(sc.cluster()) {
		if i.State != provider.Terminating {
			live[made{i.UID, i.Hash}] = append(live[made{i.UID, i.Hash}], i.ID)
		}
	}
	for what, ids := range live {
		if len(ids) > 1 {
			sc.Errorf("after %s: %d live instances of %s made from %s: %q", where, len(ids), what.uid, what.hash, ids)
		}
	}
}

// lawOfOthers: the other fleet's instances are as they were.
func (sc *scene) lawOfOthers() {
	if now := sc.instances(theirs); !slices.Equal(now, sc.foreign) {
		sc.Errorf("instances of another cluster were touched: %+v, before %+v", now, sc.foreign)
	}
}

// lawOfFinalizers: whoever is kept says why.
func (sc *scene) lawOfFinalizers() {
	for _, p := range sc.proxies(sc.T) {
		if p.DeletionTimestamp != nil && len(p.Finalizers) > 0 && !lifecycle.Is(p, egress_v1alpha1.DeletionBlocked) && sc.reason() != egress_v1alpha1.ReasonDeleting {
			sc.Errorf("%s/%s is deleted and stays, and no condition says why: %+v", p.Namespace, p.Name, p.Status.Conditions)
		}
	}
}

// lawOfOwners: every instance of ours is the one that its Proxy names.
func (sc *scene) lawOfOwners() {
	owned := map[string]bool{}
	for _, p := range sc.proxies(sc.T) {
		owned[string(p.UID)+p.Status.ProviderID] = true
	}
	for _, i := range sc.instances(sc.cluster()) {
		if !owned[i.UID+i.ID] {
			sc.Errorf("nobody owns %s of %s", i.ID, i.UID)
		}
	}
}
