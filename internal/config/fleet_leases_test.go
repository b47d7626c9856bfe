package config

import (
	"maps"
	"strings"
	"testing"
)

func TestFleetLeasesDefaults(t *testing.T) {
	loaded, err := fleetOf(map[string]string{"config": t.TempDir()}, "DISCOVERY_TOKEN=abc")
	if err != nil {
		t.Fatal(err)
	}
	want := FleetLeases{Address: "127.0.0.1:8090", Token: "abc", Store: MemoryStore, Policy: "least-leases", ProbesInFlight: 1024}
	if loaded.Fleet.Leases != want || len(loaded.Warnings) > 0 {
		t.Errorf("%+v, warnings %q", loaded.Fleet.Leases, loaded.Warnings)
	}
}

// TestWhoMayLease: without a token only this machine, or whoever an operator takes the
// word for.
func TestWhoMayLease(t *testing.T) {
	for name, c := range map[string]struct {
		flags   map[string]string
		env     []string
		warns   string
		refuses string
	}{
		"loopback":         {map[string]string{"lease-address": "127.0.0.9:8090"}, nil, `--lease-address "127.0.0.9:8090" asks for no token`, ""},
		"localhost":        {map[string]string{"lease-address": "localhost:8090"}, nil, "asks for no token", ""},
		"everybody":        {map[string]string{"lease-address": ":8090"}, nil, "", `--lease-address: ":8090" is reached by other machines, and without a token it would tell them the passwords of the proxies; set DISCOVERY_TOKEN, or listen on 127.0.0.1:8090, or give --allow-unauthenticated`},
		"a variable":       {nil, []string{"GATEHOUSE_FLEET_LEASE_ADDRESS=10.0.0.1:8090"}, "", `$GATEHOUSE_FLEET_LEASE_ADDRESS: "10.0.0.1:8090" is reached`},
		"taken the word":   {map[string]string{"lease-address": ":8090", "allow-unauthenticated": "true"}, nil, `":8090" asks for no token`, ""},
		"with a token":     {map[string]string{"lease-address": ":8090"}, []string{"DISCOVERY_TOKEN=abc"}, "", ""},
		"both":             {map[string]string{"allow-unauthenticated": "true"}, []string{"DISCOVERY_TOKEN=abc"}, "--allow-unauthenticated has no effect: $DISCOVERY_TOKEN is set", ""},
		"off":              {map[string]string{"lease-address": "", "lease-store": "redis://h:1"}, nil, `--lease-store has no effect: --lease-address "" turns the lease API off`, ""},
		"a line end":       {nil, []string{"DISCOVERY_TOKEN=abc\n"}, "", "$DISCOVERY_TOKEN: has a blank, a line end"},
		"tokens alone":     {map[string]string{"egress-tokens": "f"}, []string{"DISCOVERY_TOKEN=abc"}, "--egress-tokens has no effect", ""},
		"egress alone":     {map[string]string{"egress-listen": "127.0.0.1:3128", "lease-address": ""}, nil, "", `--egress-listen: "127.0.0.1:3128" needs the lease API`},
		"no egress tokens": {map[string]string{"egress-listen": "127.0.0.1:3128"}, []string{"DISCOVERY_TOKEN=abc"}, "", "--egress-tokens: is missing"},
		"lost tokens":      {map[string]string{"egress-listen": "127.0.0.1:3128", "egress-tokens": "/nowhere"}, nil, "", `--egress-tokens: "/nowhere" does not exist`},
		"egress to all":    {map[string]string{"egress-listen": ":3128", "allow-unauthenticated": "true"}, nil, "", `--egress-listen: ":3128" is reached by other machines`},
		"egress for all":   {map[string]string{"egress-listen": "127.0.0.1:3128", "allow-unauthenticated": "true"}, []string{"DISCOVERY_TOKEN=abc"}, "--egress-listen lets everybody in", ""},
		"one port":         {map[string]string{"egress-listen": "127.0.0.1:8090"}, nil, "", `--egress-listen: "127.0.0.1:8090" is also --lease-address`},
		"a store":          {map[string]string{"lease-store": "postgres://h/x"}, nil, "", "--lease-store: must be memory, or redis://HOST:PORT"},
		"a policy":         {map[string]string{"lease-policy": "random"}, nil, "", `--lease-policy: "random" must be one of least-leases, slow-start, best-of-two`},
		"its policy":       {map[string]string{"lease-store": "redis://h:1", "lease-policy": "slow-start"}, []string{"DISCOVERY_TOKEN=abc"}, "", `--lease-policy: "slow-start" is only for --lease-store memory`},
		"too many probes":  {map[string]string{"probes-in-flight": "0"}, nil, "", `--probes-in-flight: "0" must be a number of probes from 1 to 16384`},
		"a URL of a check": {map[string]string{"health-check-url": "example.com"}, nil, "", `--health-check-url: "example.com" must be a URL`},
	} {
		t.Run(name, func(t *testing.T) {
			flags := map[string]string{"config": t.TempDir()}
			maps.Copy(flags, c.flags)
			loaded, err := fleetOf(flags, c.env...)
			if c.refuses != "" {
				if err == nil || !strings.Contains(err.Error(), c.refuses) {
					t.Errorf("no %q in %v", c.refuses, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(loaded.Warnings, "\n"); !strings.Contains(all, c.warns) || c.warns == "" && all != "" {
				t.Errorf("warnings %q, want %q", all, c.warns)
			}
		})
	}
}

// TestThePasswordOfAStoreIsNotRepeated, neither in errors nor among what was given.
func TestThePasswordOfAStoreIsNotRepeated(t *testing.T) {
	_, err := fleetOf(map[string]string{"config": t.TempDir(), "lease-store": "redsi://me:hunter2@h:6379"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	for _, url := range []string{"redis://me:hunter2@h:6379", "rediss://:hunter2@h:6379/2"} {
		loaded, err := fleetOf(map[string]string{"config": t.TempDir(), "lease-store": url})
		if err != nil || loaded.Fleet.Leases.Store != url {
			t.Fatal(loaded.Fleet.Leases.Store, err)
		}
		for _, g := range loaded.Given {
			if strings.Contains(g.Value, "hunter2") {
				t.Errorf("%+v", g)
			}
		}
	}
}
