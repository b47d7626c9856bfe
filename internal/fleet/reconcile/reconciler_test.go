package reconcile

import (
	"slices"
	"testing"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

func TestFromNothingToRunningToNothing(t *testing.T) {
	w := newWorld()
	key := w.add("a")
	p := w.until(t, w.reconciler(), key, egress_v1alpha1.PhaseProvisioned)
	if len(w.live(p.UID)) != 1 || p.Status.IP == "" || p.Status.ProviderID != "/px-uid-a" || p.Status.Attempts != 0 {
		t.Errorf("status %+v", p.Status)
	}
	w.remove(key)
	if p := w.until(t, w.reconciler(), key, ""); p != nil || len(w.instances) != 0 {
		t.Errorf("left: %v, instances %v", p, w.instances)
	}
}

func TestAnIdlePassReadsOneInstanceAndWritesNothing(t *testing.T) {
	w := newWorld()
	key, r := w.add("a"), w.reconciler()
	w.until(t, r, key, egress_v1alpha1.PhaseProvisioned)
	w.calls = nil
	w.once(t, r, key)
	if want := []string{"proxy", "get /px-uid-a"}; !slices.Equal(w.calls, want) {
		t.Errorf("calls %q, want %q", w.calls, want)
	}
}
