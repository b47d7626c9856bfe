package experiment

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

func addresses(all ...string) []netip.Addr {
	out := make([]netip.Addr, len(all))
	for i, a := range all {
		out[i] = netip.MustParseAddr(a)
	}
	return out
}

// A change is on its way until the belief is right and a calm moment has passed; a
// belief that stays wrong is given up after a while, for it may wait for a reload.
func TestRestless(t *testing.T) {
	now := seconds(1)
	r := newRecord(func() lab.Moment { return now }, seconds(60))
	ask := func(at float64) bool { now = seconds(at); return r.restless() }
	see := func(all ...string) {
		if err := r.saw(proxy.Belief{All: addresses(all...), Some: addresses(all...)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.routable(added(1, "a1"), true); err != nil {
		t.Fatal(err)
	}
	if r.restless() {
		t.Error("restless before the proxy was told")
	}
	r.tell(added(1, "a1"), true)
	r.handOver()
	for _, at := range []float64{1, 1.2, 1.5, 3.9} {
		if !ask(at) {
			t.Errorf("calm at %v s although the belief is wrong", at)
		}
	}
	if ask(4.1) {
		t.Error("still restless 3.1 s after the proxy was told")
	}
	r.handOver()
	see("10.0.1.1")
	if !ask(4.3) || ask(4.5) {
		t.Error("a right belief must be calm after 0.3 s, and not before")
	}
}

// What was never a backend's address shows as itself, and what is seen after the end of
// the run is as of its end.
func TestHistory(t *testing.T) {
	now := seconds(1)
	r := newRecord(func() lab.Moment { return now }, seconds(5))
	if err := r.routable(added(1, "a1"), true); err != nil {
		t.Fatal(err)
	}
	now = seconds(2)
	if err := r.saw(proxy.Belief{All: addresses("10.0.1.1"), Some: addresses("10.0.1.1", "10.0.9.9")}); err != nil {
		t.Fatal(err)
	}
	now = seconds(7)
	if err := r.saw(proxy.Belief{}); err != nil {
		t.Fatal(err)
	}
	got, err := r.history()
	if err != nil {
		t.Fatal(err)
	}
	want := lab.History{
		Truth: []lab.BackendSpan{{Backend: "a1", From: seconds(1), To: seconds(5)}},
		Belief: []lab.BackendSpan{
			{Backend: "10.0.9.9", From: seconds(2), To: seconds(5), Partly: true},
			{Backend: "a1", From: seconds(2), To: seconds(5)},
		},
		Wrong: lab.Wrong{
			Windows:        []lab.Span{{From: seconds(1), To: seconds(5)}},
			Missing:        []lab.BackendSpan{{Backend: "a1", From: seconds(1), To: seconds(2)}},
			Stale:          []lab.BackendSpan{{Backend: "10.0.9.9", From: seconds(2), To: seconds(5), Partly: true}},
			MissingSeconds: 1, StaleSeconds: 3,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
