package hetzner

import (
	"slices"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

func config(token, project string) map[string][]byte {
	return map[string][]byte{TokenKey: []byte(token), ProjectKey: []byte(project)}
}

// A Secret chooses the project of every call; who is asked for all sees all.
func TestProjects(t *testing.T) {
	w := newWorld(t)
	all := w.open(ours)
	first, err := all.Create(t.Context(), w.Request(ours, uid))
	if err != nil {
		t.Fatal(err)
	}
	p, err := provider.Configured(all, config(secondToken+"\n", "second"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.Create(t.Context(), w.Request(ours, uid))
	if err != nil || second.ID == first.ID {
		t.Fatalf("created %v, %v beside %v", second, err, first)
	}
	for _, c := range []struct {
		name string
		provider.Provider
		want []string
	}{{"all", all, []string{first.ID, second.ID}}, {"second", p, []string{second.ID}}} {
		found, err := c.Find(t.Context(), ours, uid)
		var ids []string
		for _, i := range found {
			ids = append(ids, i.ID)
		}
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%s: found %q, %v; want %q", c.name, ids, err, c.want)
		}
		for _, id := range c.want {
			if got, err := c.Get(t.Context(), id); err != nil || got.ID != id {
				t.Errorf("%s: get %s: %v, %v", c.name, id, got, err)
			}
		}
	}
	if err := all.Delete(t.Context(), second.ID); err != nil {
		t.Error(err)
	}
}

// A new token of a project takes the place of the old one.
func TestTokenChanges(t *testing.T) {
	w := newWorld(t)
	all := w.open(ours)
	old, err := all.Configured(config(secondToken, "second"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := old.Create(t.Context(), w.Request(ours, uid))
	if err != nil {
		t.Fatal(err)
	}
	const next = "hcloud-token-of-tomorrow"
	w.Revoke(secondToken)
	w.Token(next, "second")
	if _, err := all.Get(t.Context(), made.ID); err == nil {
		t.Error("a revoked token works")
	}
	renewed, err := all.Configured(config(next, "second"))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]provider.Provider{"all": all, "renewed": renewed} {
		if got, err := p.Get(t.Context(), made.ID); err != nil || got.ID != made.ID {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestProjectsOfOneName: two Secrets may name different projects alike. What one of them
// has is never taken for gone because it is not in the other.
func TestProjectsOfOneName(t *testing.T) {
	w := newWorld(t)
	all := w.open(ours)
	one, err := all.Configured(config(firstToken, "egress"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := one.Create(t.Context(), w.Request(ours, uid))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Configured(config(secondToken, "egress")); err != nil {
		t.Fatal(err)
	}
	if got, err := one.Get(t.Context(), made.ID); err != nil || got.ID != made.ID {
		t.Errorf("get %s: %v, %v", made.ID, got, err)
	}
	if found, err := one.Find(t.Context(), ours, uid); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v; want one", found, err)
	}
}

func TestConfiguredRefuses(t *testing.T) {
	p := New(Options{Cluster: ours})
	for want, c := range map[string]map[string][]byte{
		"refused: key token is missing: it holds a token of the project, with the right to write": {},
		"refused: key token is no token: it holds letters and digits only":                        config("a b", "p"),
		"key project is missing: give the token's project a name":                                 config(firstToken, ""),
		`key project: "Mine!": a project's name has at most 63 small letters`:                     config(firstToken, "Mine!"),
	} {
		_, err := p.Configured(c)
		if err == nil {
			t.Errorf("accepted: %v", c)
			continue
		}
		wantClass(t, err, provider.ErrPermanent, want)
	}
}

// A project whose token is not known is no empty one.
func TestUnknownProject(t *testing.T) {
	p := New(Options{Cluster: ours})
	_, err := p.Create(t.Context(), newWorld(t).Request(ours, uid))
	wantClass(t, err, provider.ErrPermanent, "there is no token of Hetzner Cloud: set HCLOUD_TOKEN, or name a Secret")
	_, err = p.Get(t.Context(), "second/42")
	wantClass(t, err, provider.ErrPermanent, `no token of project "second" is known`)
	wantClass(t, p.Delete(t.Context(), "second/42"), provider.ErrPermanent, `no token of project "second" is known`)
	if all, err := p.ListByTag(t.Context(), ours); err != nil || len(all) > 0 {
		t.Errorf("without projects: %v, %v", all, err)
	}
}
