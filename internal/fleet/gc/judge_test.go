package gc

import (
	"slices"
	"strconv"
	"testing"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

var (
	rules = Rules{Cluster: "ours", MinAge: 10 * time.Minute}
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

// sighting is of an instance that an hour and a half ago was seen here, by both clocks.
func sighting(uid, id string) Sighting {
	return Sighting{
		Provider: "gcp", Since: noon.Add(-90 * time.Minute),
		ID: id, UID: uid, Cluster: "ours", State: provider.Running, CreatedAt: noon.Add(-90 * time.Minute),
	}
}

func proxy(uid, id string) *egress_v1alpha1.Proxy {
	return &egress_v1alpha1.Proxy{
		Namespace: "crawl", Name: "px-" + uid, UID: types.UID(uid),
		Spec:   egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.Managed, Provider: "gcp"},
		Status: egress_v1alpha1.ProxyStatus{ProviderID: id},
	}
}

func TestJudge(t *testing.T) {
	deleted := proxy("u1", "zones/a/px")
	deleted.DeletionTimestamp = new(meta_v1.NewTime(noon))
	elsewhere := proxy("u1", "zones/a/px")
	elsewhere.Status.Provider = "hetzner"
	for name, c := range map[string]struct {
		change func(*Sighting)
		owner  *egress_v1alpha1.Proxy
		want   Verdict
	}{
		"no Proxy":                      {nil, nil, Orphan},
		"another instance":              {nil, proxy("u1", "zones/b/px"), Duplicate},
		"an instance of another maker":  {nil, elsewhere, Duplicate},
		"the instance of its Proxy":     {nil, proxy("u1", "zones/a/px"), Owned},
		"its Proxy names none":          {nil, proxy("u1", ""), Unclaimed},
		"its Proxy is being deleted":    {nil, deleted, Owner},
		"a Proxy with another UID":      {nil, proxy("u2", "zones/b/px"), Unclaimed},
		"another cluster":               {func(s *Sighting) { s.Cluster = "theirs" }, nil, Foreign},
		"no cluster":                    {func(s *Sighting) { s.Cluster = "" }, nil, Foreign},
		"no UID":                        {func(s *Sighting) { s.UID = "" }, nil, Foreign},
		"being deleted":                 {func(s *Sighting) { s.State = provider.Terminating }, nil, Leaving},
		"stopped":                       {func(s *Sighting) { s.State = provider.Stopped }, nil, Orphan},
		"seen a moment ago, no date":    {func(s *Sighting) { s.Since, s.CreatedAt = noon, time.Time{} }, nil, Young},
		"seen a moment ago, dated back": {func(s *Sighting) { s.Since, s.CreatedAt = noon, noon.Add(-MaxSkew) }, nil, Young},
		"seen a moment ago, very old":   {func(s *Sighting) { s.Since, s.CreatedAt = noon, noon.Add(-MaxSkew-rules.MinAge) }, nil, Orphan},
		"known for long, dated ahead":   {func(s *Sighting) { s.Since, s.CreatedAt = noon.Add(-rules.MinAge), noon.Add(24*time.Hour) }, nil, Orphan},
		"known not quite for long":      {func(s *Sighting) { s.Since, s.CreatedAt = noon.Add(-rules.MinAge+1), noon.Add(-rules.MinAge) }, nil, Young},
	} {
		s := sighting("u1", "zones/a/px")
		if c.change != nil {
			c.change(&s)
		}
		if got := rules.Judge(s, c.owner, noon); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWithoutAClusterNothingIsOurs(t *testing.T) {
	s := sighting("u1", "zones/a/px")
	s.Cluster = ""
	if got := (Rules{}).Judge(s, nil, noon); got != Foreign {
		t.Errorf("an instance without a cluster is %s", got)
	}
}

// drawWorld draws instances and Proxies with every relation between them, over and over.
func drawWorld(t *rapid.T) (seen []Sighting, proxies []*egress_v1alpha1.Proxy) {
	uid := rapid.Map(rapid.IntRange(0, 12), func(i int) string { return "u" + strconv.Itoa(i) })
	for i := range rapid.IntRange(0, 80).Draw(t, "instances") {
		s := sighting(uid.Draw(t, "uid"), "i"+strconv.Itoa(rapid.IntRange(0, i).Draw(t, "id")))
		s.Cluster = rapid.SampledFrom([]string{"ours", "ours", "ours", "theirs", ""}).Draw(t, "cluster")
		s.Since = noon.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, "known")) * time.Minute)
		s.State = rapid.SampledFrom([]provider.State{provider.Provisioning, provider.Running, provider.Stopped, provider.Terminating}).Draw(t, "state")
		s.CreatedAt = noon.Add(time.Duration(rapid.IntRange(-60, 60).Draw(t, "created")) * time.Minute)
		s.Failures = rapid.IntRange(0, 2).Draw(t, "failures")
		seen = append(seen, s)
	}
	for _, u := range rapid.SliceOfNDistinct(uid, 0, 8, rapid.ID).Draw(t, "proxies") {
		p := proxy(u, rapid.SampledFrom([]string{"", "i1", "i2", "i3"}).Draw(t, "names"))
		if rapid.Bool().Draw(t, "deleted") {
			p.DeletionTimestamp = new(meta_v1.NewTime(noon))
		}
		proxies = append(proxies, p)
	}
	return seen, proxies
}

// TestChoiceIsLawful: nothing is chosen without evidence, nothing twice, no more than the
// limit, and nothing with a verdict to go is left out.
func TestChoiceIsLawful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen, proxies := drawWorld(t)
		kill, wait := rules.Choose(seen, proxies, noon)
		owners, once, ours := byUID(proxies), map[identity]bool{}, map[identity]bool{}
		for _, s := range seen {
			if s.Cluster == "ours" {
				ours[s.identity()] = true
			}
		}
		if len(kill) > max(maxKills, len(ours)/maxKillsPart) || len(wait) > 0 && len(kill) < maxKills {
			t.Fatalf("%d of %d are to go now, %d later", len(kill), len(ours), len(wait))
		}
		for _, v := range slices.Concat(kill, wait) {
			owner := owners[types.UID(v.UID)]
			switch {
			case once[v.identity()]:
				t.Fatalf("%s twice", v.ID)
			case v.Cluster != "ours", v.UID == "", v.State == provider.Terminating, noon.Sub(v.Since) < rules.MinAge:
				t.Fatalf("chosen without evidence: %+v", v)
			case owner == nil && v.Verdict == Orphan:
			case owner == nil || v.Verdict != Duplicate, owner.DeletionTimestamp != nil, owner.Status.ProviderID == "", owner.Status.ProviderID == v.ID:
				t.Fatalf("%+v of %+v", v, owner)
			}
			once[v.identity()] = true
		}
		for _, s := range distinct(seen) {
			if rules.Judge(s, owners[types.UID(s.UID)], noon).kills() != once[s.identity()] {
				t.Fatalf("%s is missing from the choice, or too much in it", s.ID)
			}
		}
	})
}

// TestChoiceIsStable: the order of lists decides nothing.
func TestChoiceIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen, proxies := drawWorld(t)
		seen = distinct(seen)
		kill, wait := rules.Choose(seen, proxies, noon)
		kill2, wait2 := rules.Choose(rapid.Permutation(seen).Draw(t, "seen"), rapid.Permutation(proxies).Draw(t, "order"), noon)
		if !slices.Equal(kill, kill2) || !slices.Equal(wait, wait2) {
			t.Fatalf("%v, then %v", kill, kill2)
		}
	})
}
