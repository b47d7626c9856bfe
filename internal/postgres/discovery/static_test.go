package discovery_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

func TestParseStatic(t *testing.T) {
	got, errs := discovery.ParseStatic("orders=127.0.0.1:5433, orders.pool=[::1]:6432,a.b=db-1.shop.svc.cluster.local:1,pool.pool=pg_1:65535,pool=x.:5432,ö%2e=10.0.0.1:5432")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := []discovery.Backend{
		{Deployment: "orders", Host: "127.0.0.1", Port: 5433},
		{Deployment: "orders", Pooled: true, Host: "::1", Port: 6432},
		{Deployment: "a.b", Host: "db-1.shop.svc.cluster.local", Port: 1},
		{Deployment: "pool", Pooled: true, Host: "pg_1", Port: 65535},
		{Deployment: "pool", Host: "x.", Port: 5432},
		{Deployment: "ö%2e", Host: "10.0.0.1", Port: 5432},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("backends (-want +got):\n%s", diff)
	}
}

// Every entry that is wrong is told, with the remedy.
func TestParseStaticRefuses(t *testing.T) {
	for entry, want := range map[string]string{
		"":                          "is empty; write DEPLOYMENT=HOST:PORT",
		"orders":                    `has no "="; write DEPLOYMENT=HOST:PORT`,
		"=h:1":                      "names no deployment; write its name",
		".pool=h:1":                 "names no deployment; write its name",
		".a=h:1":                    "has an empty part between dots",
		"a.=h:1":                    "has an empty part between dots",
		"a..b=h:1":                  "has an empty part between dots",
		"a..pool=h:1":               "has an empty part between dots",
		"a b=h:1":                   "has a space or a control character",
		"a\x1b=h:1":                 "has a space or a control character",
		"a=h":                       "has no port; write HOST:PORT, for example h:5432",
		"a=":                        "has no port; write HOST:PORT, for example 127.0.0.1:5432",
		"a=h:":                      `has port ""; it must be a number from 1 to 65535`,
		"a=h:0":                     `has port "0"`,
		"a=h:65536":                 `has port "65536"`,
		"a=h:+1":                    `has port "+1"`,
		"a=h: 1":                    `has port " 1"`,
		"a=:1":                      "has no host; write HOST:PORT",
		"a=::1:1":                   "write an IPv6 address in brackets, for example [::1]:5432",
		"a=h:x:1":                   "write an IPv6 address in brackets",
		"a=[127.0.0.1]:1":           "only an IPv6 address is written in brackets",
		"a=[h]:1":                   "only an IPv6 address is written in brackets",
		"a=[::1:1":                  "only an IPv6 address is written in brackets",
		"a=h]:1":                    "only an IPv6 address is written in brackets",
		"a=0.0.0.0:1":               "is no server's address",
		"a=[::]:1":                  "is no server's address",
		"a=300.1.1.1:1":             "must be a DNS name or an IP address",
		"a=postgres://h/db:1":       "write an IPv6 address in brackets",
		"a=user@h:1":                "must be a DNS name or an IP address",
		"a=-h:1":                    "must be a DNS name or an IP address",
		"a=" + long(254) + ":1":     "must be a DNS name or an IP address",
		"ok.pool=h:1":               `entry 2 "ok.pool=h:1" names the same backend as entry 1; keep one`,
		"a=" + long(63) + "y.com:1": "must be a DNS name or an IP address",
	} {
		_, errs := discovery.ParseStatic("ok.pool=h:2," + entry)
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "entry 2 ") || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%q: got %q, want one error with %q", entry, errs, want)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestParseStaticTellsAllAtOnce(t *testing.T) {
	got, errs := discovery.ParseStatic("a=h,b=h:1,,c=h:0,")
	if len(errs) != 4 || len(got) != 1 {
		t.Errorf("got %v and %q; want one backend and four errors", got, errs)
	}
}

// What is written is what is read.
func TestStaticRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) discovery.Backend {
			return discovery.Backend{
				Deployment: rapid.StringMatching(`[a-z]{1,3}(\.[a-z]{1,3})?`).Draw(t, "deployment"),
				Pooled:     rapid.Bool().Draw(t, "pooled"),
				Host:       rapid.SampledFrom([]string{"::1", "fe80::1", "127.0.0.1", "db", "db.example"}).Draw(t, "host"),
				Port:       rapid.Uint16Min(1).Draw(t, "port"),
			}
		})
		id := func(b discovery.Backend) string {
			if b.Pooled {
				return b.Deployment + ".pool"
			}
			return b.Deployment
		}
		want := rapid.SliceOfNDistinct(draw, 1, 20, id).Draw(t, "backends")
		var entries []string
		for _, b := range want {
			entries = append(entries, id(b)+"="+b.Address())
		}
		got, errs := discovery.ParseStatic(strings.Join(entries, ","))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("backends (-want +got):\n%s", diff)
		}
	})
}

func FuzzParseStatic(f *testing.F) {
	f.Add("orders=127.0.0.1:5433,orders.pool=[::1]:6432")
	f.Add("a=h,,=:,[]=[]:1")
	f.Fuzz(func(t *testing.T, text string) {
		got, errs := discovery.ParseStatic(text)
		if len(got)+len(errs) != strings.Count(text, ",")+1 {
			t.Errorf("%d backends and %d errors of %q", len(got), len(errs), text)
		}
	})
}
