package gcp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

// TestMadeAgainAndAgain: Google answers a request ID that it knows with what became of
// the first request. Instances that come and go within a minute are made all the same.
func TestMadeAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	for round := range 6 {
		got, err := p.Create(t.Context(), usual(nil))
		if err != nil {
			t.Fatalf("create %d: %v", round, err)
		}
		w.clock.add(4 * time.Second)
		if got, err := p.Get(t.Context(), got.ID); err != nil || got.State != provider.Running {
			t.Fatalf("round %d: state %d, %v; want it to run", round, got.State, err)
		}
		if err := w.Remove(got.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// TestARepeatIsOneRequest: the same create, asked again at once, is one insert to
// Google, and one instance.
func TestARepeatIsOneRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	first, err := p.Create(t.Context(), usual(nil))
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Create(t.Context(), usual(nil))
	if err != nil || again.ID != first.ID || again.Operation != first.Operation {
		t.Errorf("again: %s by %s, %v; want %s by %s", again.ID, again.Operation, err, first.ID, first.Operation)
	}
	calls := w.Calls()
	if len(calls) != 2 || calls[0].RequestID != calls[1].RequestID || calls[0].RequestID == "" {
		t.Errorf("calls %v, want two with one request ID", calls)
	}
}

// TestAnOldHashIsReturned: what exists is taken over as it is; whether it has drifted is
// not for the provider to say.
func TestAnOldHashIsReturned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	if _, err := p.Create(t.Context(), usual(nil)); err != nil {
		t.Fatal(err)
	}
	got, err := p.Create(t.Context(), usual(func(r *provider.CreateRequest) { r.Hash = strings.Repeat("f", 64) }))
	if err != nil || got.Hash != "0123456789abcdef0123456789abcdef" {
		t.Errorf("hash %s, %v; want that of the first", got.Hash, err)
	}
}

// TestQuotaEndsAndComesBack: an operation that ends at the quota is told by its
// operation, and a create after the quota was raised makes an instance.
func TestQuotaEndsAndComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	id := w.Add(fakegce.QuotaLater)
	got, err := p.Create(t.Context(), usual(nil))
	if err != nil {
		t.Fatal(err)
	}
	err = p.(provider.CreateOutcome).CreateError(t.Context(), got.ID, got.Operation)
	if provider.ClassName(err) != "QuotaExceeded" || !strings.Contains(err.Error(), "QUOTA_EXCEEDED: Quota 'CPUS' exceeded") {
		t.Errorf("the operation ended with %v", err)
	}
	w.Cloud.Lift(id)
	if got, err = p.Create(t.Context(), usual(nil)); err != nil {
		t.Fatal(err)
	}
	w.clock.add(4 * time.Second)
	if got, err := p.Get(t.Context(), got.ID); err != nil || got.State != provider.Running {
		t.Errorf("state %d, %v; want it to run", got.State, err)
	}
}

// TestInstanceOfAnotherZone: an ID stays true when the zone of the Proxy is edited.
func TestInstanceOfAnotherZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	first, err := p.Create(t.Context(), usual(nil))
	if err != nil {
		t.Fatal(err)
	}
	w.clock.add(4 * time.Second)
	if _, err := p.Create(t.Context(), usual(func(r *provider.CreateRequest) { r.Zone, r.Hash = other, strings.Repeat("f", 64) })); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Get(t.Context(), first.ID); err != nil || got.ID != first.ID {
		t.Errorf("%s, %v; want %s", got.ID, err, first.ID)
	}
	if found, err := p.Find(t.Context(), ours, first.UID); err != nil || len(found) != 2 {
		t.Errorf("found %v, %v; want both", found, err)
	}
	if err := p.Delete(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.add(4 * time.Second)
	if found, err := p.Find(t.Context(), ours, first.UID); err != nil || len(found) != 1 || found[0].ID == first.ID {
		t.Errorf("left %v, %v; want the other one", found, err)
	}
}

// TestInternalAddress: without an external address the internal one is what counts.
func TestInternalAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	got, err := p.Create(t.Context(), usual(func(r *provider.CreateRequest) { r.ExternalIP = false }))
	if err != nil {
		t.Fatal(err)
	}
	w.clock.add(3 * time.Second)
	got, err = p.Get(t.Context(), got.ID)
	if err != nil || got.State != provider.Running || !got.IP.IsPrivate() {
		t.Errorf("state %d at %s, %v; want it to run at a private address", got.State, got.IP, err)
	}
}

// TestSpotIsDeleted: one that is taken back leaves nothing to pay for.
func TestSpotIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	got, err := p.Create(t.Context(), usual(func(r *provider.CreateRequest) { r.Spot = true }))
	if err != nil {
		t.Fatal(err)
	}
	w.clock.add(4 * time.Second)
	if err := w.Stop(got.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.add(4 * time.Second)
	if _, err := p.Get(t.Context(), got.ID); provider.ClassName(err) != "NotFound" {
		t.Errorf("%v, want that it is gone", err)
	}
}
