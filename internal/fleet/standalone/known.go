package standalone

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone/state"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

var _ explain.Shell = (*Fleet)(nil)

// Fleet returns all that is known now.
func (f *Fleet) Fleet(context.Context) (explain.Fleet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := explain.Fleet{Source: "directory " + f.Dir}
	all := map[types.NamespacedName]*explain.Known{}
	total := 0
	for _, r := range f.Objects.Records() {
		k := f.known(r)
		all[types.NamespacedName{Namespace: k.Namespace, Name: k.Name}] = &k
		if r.Proxy.DeletionTimestamp == nil {
			total++
		}
	}
	f.addRefusals(all, &out)
	for _, k := range all {
		out.Proxies = append(out.Proxies, *k)
	}
	slices.SortFunc(out.Proxies, func(a, b explain.Known) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if n := len(f.documents.missing); n > 0 && (f.held == holdNone || f.held == holdHalf) {
		out.Held = heldMessage(f.held, f.Dir, n, total)
	}
	return out, nil
}

// known is what is known of a Proxy that is kept.
func (f *Fleet) known(r *state.Record) explain.Known {
	p := r.Proxy
	key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	o := f.outcomes[key]
	k := explain.Known{
		Namespace: p.Namespace, Name: p.Name, Proxy: p, Next: o.next, Failures: o.failures, Error: o.err,
		ProviderOn: p.Spec.Mode == egress_v1alpha1.External || slices.Contains(f.Providers, p.Spec.Provider),
	}
	if f.documents.proxies[key] != nil {
		k.Origin = place(f.documents.origins[key])
	}
	if _, missing := f.documents.missing[key]; missing && p.DeletionTimestamp == nil {
		k.Held = f.held == holdNone || f.held == holdHalf
		k.Missing = "its document is gone; it is deleted in a moment"
		if k.Held {
			k.Missing = "its document is gone, as are too many others: it is kept; put them back, or start with --allow-mass-delete"
		}
	}
	return k
}

// addRefusals adds why documents are not in force: to their Proxy, also one that never
// was, else to the problems.
func (f *Fleet) addRefusals(all map[types.NamespacedName]*explain.Known, out *explain.Fleet) {
	at := func(key types.NamespacedName) *explain.Known {
		if all[key] == nil {
			all[key] = &explain.Known{Namespace: key.Namespace, Name: key.Name, ProviderOn: true}
		}
		return all[key]
	}
	for _, found := range f.documents.all() {
		if found.Object.Collection == "Proxy" && found.Object.Name != "" {
			k := at(nameOf(found.Object))
			k.Refusals = append(k.Refusals, refusal(found))
			if k.Origin == "" && k.Missing == "" {
				k.Origin = place(found.Origin)
			}
			continue
		}
		out.Problems = append(out.Problems, explain.Problem{
			File: found.File, Line: found.Line, Kind: found.Object.Collection, Name: found.Object.Name,
			Field: found.Step.Field, Reason: found.Step.Reason, Message: found.Step.Message,
		})
	}
	for key, step := range f.refused {
		k := at(key)
		k.Refusals = append(k.Refusals, step)
		if k.Origin == "" {
			k.Origin = place(f.documents.origins[key])
		}
	}
}

// refusal is a finding with its place.
func refusal(f snapshot.Finding) verdict.Step {
	s := f.Step
	s.Message = s.Message + " (" + place(f.Origin) + ")"
	return s
}
