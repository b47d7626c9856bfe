package render

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// drawRow is a Proxy as users and providers may name it.
func drawRow(t *rapid.T) explain.Row {
	r := explain.Row{
		Namespace: rapid.StringMatching(`[a-z]{1,30}`).Draw(t, "namespace"), Name: rapid.StringMatching(`[a-z0-9-]{1,60}`).Draw(t, "name"),
		Phase: "Provisioning", Provider: "gcp", Zone: "europe-west3-a", Why: rapid.String().Draw(t, "why"),
		Address: "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:65535",
		Offer:   &explain.OfferNow{Why: "Offered"}, Leases: &explain.LeasesNow{Active: rapid.IntRange(0, 1<<20).Draw(t, "active"), Capacity: 10},
		Probe: &explain.ProbeNow{Class: rapid.SampledFrom([]string{"", "ok", "connect_status"}).Draw(t, "class"), InRow: 1 << 20},
	}
	if rapid.Bool().Draw(t, "cools") {
		r.Leases.Cooling = 3
		r.Leases.Cooldowns = []explain.CooldownNow{{Target: rapid.String().Draw(t, "target"), Until: time.Unix(1_800_000_000, 0)}}
	}
	return r
}

// TestTopFits: no line of a live view is wider than the terminal, and no frame higher.
func TestTopFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Style{Unicode: rapid.Bool().Draw(t, "unicode"), Width: rapid.IntRange(0, 200).Draw(t, "width")}
		f := Frame{
			At: time.Unix(1_800_000_000, 0), Lost: rapid.SampledFrom([]string{"", "no answer"}).Draw(t, "lost"),
			List: explain.List{Items: rapid.SliceOfN(rapid.Custom(drawRow), 0, 30).Draw(t, "rows")}, Lines: rapid.IntRange(5, 40).Draw(t, "lines"),
			Granted: new(1234567.0), Refused: new(0.5),
		}
		text := FleetTop(s, f, f.At.Add(time.Hour))
		if n := strings.Count(text, "\n"); n > f.Lines {
			t.Fatalf("%d lines of %d:\n%s", n, f.Lines, text)
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > s.width() || strings.ContainsFunc(line, unsafeRune) {
				t.Fatalf("does not fit into %d: %q", s.width(), line)
			}
		}
	})
}

// TestAListFits: what is less needed goes before the columns are too wide.
func TestAListFits(t *testing.T) {
	row := explain.Row{
		Namespace: "crawlers", Name: "frankfurt-1", Phase: "Provisioned", Provider: "gcp", Zone: "northamerica-northeast1-a", Address: "203.0.113.199:3128",
		Probe: &explain.ProbeNow{Class: "connect_status", InRow: 120}, Leases: &explain.LeasesNow{Active: 100, Capacity: 1000, Cooling: 1, Cooldowns: []explain.CooldownNow{{}}},
	}
	for width, want := range map[int]string{
		100: "PROXY                 PHASE        ADDRESS             PROBE                  LEASES    COOLING\n",
		80:  "PROXY                 PHASE        PROBE                  LEASES    COOLING\n",
	} {
		head, _, _ := strings.Cut(Fleet(Style{Unicode: true, Width: width}, explain.List{Items: []explain.Row{row}}, time.Now()), "crawlers")
		if head != want {
			t.Errorf("%d columns: %q", width, head)
		}
	}
}

func TestTopSaysWhatIsWrongWithAll(t *testing.T) {
	f := Frame{Lost: "no gatehouse answers"}
	if got := FleetTop(plain, f, time.Now()); got != "nothing known yet\n! no gatehouse answers; asked again and again\n\n" {
		t.Errorf("%q", got)
	}
	at := time.Unix(1_800_000_000, 0)
	f = Frame{At: at, List: explain.List{Held: "held", Leasing: explain.Leasing{Error: "the store is away", SuspendedSince: &at}}}
	got := FleetTop(plain, f, at)
	for _, want := range []string{"! leases: the store is away\n", "! so many probes fail at once since ", "! held\n", "0 of 0 proxies offered"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}
