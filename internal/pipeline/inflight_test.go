package pipeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

func landed(flights []flight) []uint64 {
	var out []uint64
	for _, f := range flights {
		out = append(out, f.seq)
	}
	return out
}

func TestRoundLandsWhenEveryProxyHasAnswered(t *testing.T) {
	var f inflight
	one := []change{{key: store.Key{Name: "a"}}}
	f.add(1, one, derive.State{}, []string{"p", "q"})
	f.add(2, one, derive.State{}, []string{"q"})

	if got := landed(f.settle("p", "g", 1)); got != nil {
		t.Errorf("landed %v while q has not answered", got)
	}
	if diff := cmp.Diff([]uint64{1, 2}, landed(f.settle("q", "g", 2))); diff != "" {
		t.Errorf("landed (-want +got):\n%s", diff)
	}
}

func TestRoundDoesNotWaitForAProxyThatLeft(t *testing.T) {
	var f inflight
	f.add(1, nil, derive.State{}, []string{"p"})

	if got := landed(f.gone("p")); len(got) != 1 {
		t.Errorf("landed %v, want the round", got)
	}
}

func TestRoundWithoutProxiesLandsAtOnce(t *testing.T) {
	var f inflight
	f.add(0, nil, derive.State{}, nil)

	if got := landed(f.landed()); len(got) != 1 {
		t.Errorf("landed %v, want the round", got)
	}
}

func TestRoundOfANewGatewayWaitsForItsFirstProxy(t *testing.T) {
	var f inflight
	f.add(1, nil, derive.State{}, []string{firstOf("shop/new")})

	if got := landed(f.settle("p", "shop/old", 1)); got != nil {
		t.Errorf("landed %v by the proxy of another Gateway", got)
	}
	if got := landed(f.settle("q", "shop/new", 1)); len(got) != 1 {
		t.Errorf("landed %v, want the round", got)
	}
}

func TestRetryDelayDoublesUntilItsBound(t *testing.T) {
	var r retries
	name := scoped{Name: xdsserve.Name{Type: xdsserve.Listener, Name: "a"}}
	now := time.Unix(0, 0)
	var delays []time.Duration
	for range 6 {
		r.add(name, now)
		at, _ := r.next()
		delays = append(delays, at.Sub(now))
		if got := r.due(at); len(got) != 1 {
			t.Fatalf("due %v, want one", got)
		}
		now = at
	}

	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 15 * time.Second}
	if diff := cmp.Diff(want, delays); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
	if _, waits := r.next(); waits {
		t.Error("an offer that was not answered is due again")
	}
}

func TestClosestFindsTypingErrors(t *testing.T) {
	have := func(yield func(string) bool) {
		_ = yield("shop/checkout") && yield("shop/storefront") && yield("other/checkuot")
	}

	if diff := cmp.Diff([]string{"shop/checkout", "other/checkuot"}, closest("shop/checkuot", have)); diff != "" {
		t.Errorf("closest (-want +got):\n%s", diff)
	}
	if got := closest("nothing/alike", have); len(got) != 0 {
		t.Errorf("closest = %v, want none", got)
	}
}
