package gcp_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

// fill makes instances of ours in two zones.
func fill(t *testing.T, w *world, n int) {
	t.Helper()
	for i := range n {
		at := []string{zone, other}[i%2]
		w.Place(project, at, fmt.Sprintf("px-%d", i), map[string]string{"proxy-operator-uid": fmt.Sprint(i), "proxy-operator-cluster": ours, "proxy-operator-hash": "0"})
	}
	w.Place(project, zone, "px-foreign", map[string]string{"proxy-operator-uid": "1", "proxy-operator-cluster": "another"})
}

// TestUnreachableScopes: whichever way Google says it, on whichever page.
func TestUnreachableScopes(t *testing.T) {
	t.Parallel()
	for _, how := range []string{fakegce.AsWarning, fakegce.AsListed} {
		for _, pages := range []int{0, 1, 3} {
			for _, empty := range []bool{false, true} {
				w := newWorld(t)
				fill(t, w, 8)
				w.SetUnreachable(other, how)
				w.Set(func(o *fakegce.Options) { o.PageSize, o.EmptyPage = pages, empty })
				got, err := w.Open(t, ours).ListByTag(t.Context(), ours)
				partial, ok := errors.AsType[*provider.PartialError](err)
				if !ok || !slices.Equal(partial.Scopes, []string{"projects/test-project/zones/us-central1-a"}) || provider.ClassName(err) != "Transient" {
					t.Errorf("%s, pages of %d, the first empty is %t: %v", how, pages, empty, err)
				}
				if len(got) != 4 {
					t.Errorf("%s, pages of %d, the first empty is %t: %d instances, want the 4 that can be seen", how, pages, empty, len(got))
				}
			}
		}
	}
}

// TestPages: all are seen once, in order, and nobody else's.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fill(t, w, 1100)
	got, err := w.Open(t, ours).ListByTag(t.Context(), ours)
	sorted := slices.IsSortedFunc(got, func(a, b provider.Instance) int { return cmpString(a.ID, b.ID) })
	if err != nil || len(got) != 1100 || !sorted {
		t.Errorf("%d instances, in order is %t, %v; want 1100", len(got), sorted, err)
	}
	if n := len(w.Calls()); n != 3 {
		t.Errorf("%d requests, want 3 pages of at most 500", n)
	}
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestAPageThatFails: what came before does not pass for the list.
func TestAPageThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fill(t, w, 1100)
	w.Add(fakegce.Fault{Call: fakegce.List, Skip: 2, Times: 1, Status: http.StatusServiceUnavailable, Reason: "backendError", Message: "Backend Error"})
	p := w.Open(t, ours)
	if got, err := p.ListByTag(t.Context(), ours); err == nil || got != nil || provider.ClassName(err) != "Transient" {
		t.Errorf("%d instances, %v; want a transient error and none", len(got), err)
	}
	if got, err := p.ListByTag(t.Context(), ours); err != nil || len(got) != 1100 {
		t.Errorf("afterwards %d instances, %v", len(got), err)
	}
}

// TestAProjectThatIsGone hides no other.
func TestAProjectThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fill(t, w, 4)
	p := w.Open(t, ours)
	configured(t, p, map[string][]byte{"project": []byte("gone-project")})
	got, err := p.ListByTag(t.Context(), ours)
	partial, ok := errors.AsType[*provider.PartialError](err)
	if !ok || len(got) != 4 || !slices.Equal(partial.Scopes, []string{"projects/gone-project"}) {
		t.Errorf("%d instances, %v; want 4 and an error of the project", len(got), err)
	}
}

// TestLabelsAreNoFilters: what goes into a filter is checked.
func TestLabelsAreNoFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Open(t, ours)
	for _, bad := range []string{"", `x" OR name = "database`, "A"} {
		if _, err := p.ListByTag(t.Context(), bad); provider.ClassName(err) != "Permanent" {
			t.Errorf("list %q: %v, want a permanent error", bad, err)
		}
		if _, err := p.Find(t.Context(), ours, bad); provider.ClassName(err) != "Permanent" {
			t.Errorf("find %q: %v, want a permanent error", bad, err)
		}
	}
	if calls := w.Calls(); len(calls) != 0 {
		t.Errorf("calls %v", calls)
	}
}
