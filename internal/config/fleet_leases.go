package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// FleetLeases is how proxies are probed and leased.
type FleetLeases struct {
	// Address is where the lease API listens, HOST:PORT; empty for nowhere.
	Address string
	// Token is what clients authenticate with, from the environment only; empty for no
	// authentication.
	Token string
	// Store is "memory", or the URL of a Redis or Valkey, which may have a password in it.
	Store string
	// Policy says which of the proxies that suit is leased.
	Policy lease.Policy
	// AllowUnauthenticated serves others than this machine although there is no Token.
	AllowUnauthenticated bool
	// HealthCheckURL is what Proxies are probed with that name none; empty for none.
	HealthCheckURL string
	// ProbesInFlight bounds the probes at once.
	ProbesInFlight int
}

// FleetEgress is the super-proxy within this process.
type FleetEgress struct {
	// Listen is where it listens, HOST:PORT; empty for nowhere.
	Listen string
	// Tokens is the file of those who may use it.
	Tokens string
}

// MemoryStore is the store of leases that is in this process.
const MemoryStore = "memory"

// InMemory reports whether leases are kept in this process.
func (l FleetLeases) InMemory() bool { return l.Store == MemoryStore }

// StoreName is what people call the store, without its password.
func (l FleetLeases) StoreName() string {
	u, err := url.Parse(l.Store)
	if err != nil || u.Host == "" {
		return MemoryStore
	}
	return "redis at " + u.Host
}

// leasePolicies say which of the proxies that suit is leased, the default first.
func leasePolicies() (names []string) {
	for _, p := range lease.Policies() {
		names = append(names, string(p))
	}
	return names
}

func fleetLeasesTable(f *Fleet) []*setting {
	l := &f.Leases
	return []*setting{
		{Setting{
			Key: "leaseAddress", Value: "HOST:PORT", Default: "127.0.0.1:8090",
			Usage: `where the lease API listens, with the token of $DISCOVERY_TOKEN; port 0 takes any free port, "" turns it off`,
		}, func(v []string) error { return setListen(&l.Address, v) }, false},
		{Setting{
			Key: "leaseStore", Value: "memory|URL", Default: MemoryStore, Hidden: true,
			Usage: "where leases are kept: memory, or redis://HOST:PORT or rediss://HOST:PORT for several replicas that all grant",
		}, func(v []string) error { return setLeaseStore(&l.Store, v) }, false},
		{Setting{
			Key: "leasePolicy", Value: "NAME", Default: leasePolicies()[0],
			Usage: "which of the proxies that suit is leased: least-leases (then the quickest, then by name), slow-start (new ones fill up slowly), or best-of-two (the better one of two at random)",
		}, func(v []string) error { return setChoice((*string)(&l.Policy), v, leasePolicies()...) }, false},
		{Setting{
			Key: "allowUnauthenticated", Default: "false",
			Usage: "serve the lease API without $DISCOVERY_TOKEN also where other machines reach it",
		}, func(v []string) error { return setSwitch(&l.AllowUnauthenticated, v) }, false},
		{Setting{
			Key: "healthCheckUrl", Value: "URL",
			Usage: "what is asked for through Proxies without spec.healthCheck.url; without any, a probe only connects",
		}, func(v []string) error { return setURL(&l.HealthCheckURL, v) }, false},
		{Setting{
			Key: "probesInFlight", Value: "N", Default: "1024",
			Usage: "how many probes of proxies are made at once",
		}, func(v []string) error { return setNumber(&l.ProbesInFlight, v, "a number of probes", 1, 16_384) }, false},
	}
}

func fleetEgressTable(f *Fleet) []*setting {
	e := &f.Egress
	return []*setting{
		{Setting{
			Key: "egressListen", Value: "HOST:PORT",
			Usage: "where a super-proxy listens, as gatehouse egress is one by itself; by default nowhere",
		}, func(v []string) error { return setListen(&e.Listen, v) }, false},
		{Setting{
			Key: "egressTokens", Value: "FILE",
			Usage: "who may use the super-proxy: a line from gatehouse egress token for each",
		}, func(v []string) error { return setText(&e.Tokens, v) }, false},
	}
}

// setListen takes an address, or an empty one for nowhere.
func setListen(to *string, values []string) error {
	if strings.Join(values, "") == "" {
		*to = ""
		return nil
	}
	return setHostPort(to, values)
}

// setLeaseStore does not repeat a URL, which may have a password in it.
func setLeaseStore(to *string, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	u, err := url.Parse(v)
	if v != MemoryStore && (err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Host == "") {
		return Errors{errors.New("must be memory, or redis://HOST:PORT or rediss://HOST:PORT, with user and password before an @ where there are some")}
	}
	*to = v
	return nil
}

// leases settles who may lease, and refuses to serve everybody by accident.
func (c *fleetCheck) leases() {
	l := &c.Leases
	l.Token = c.env["DISCOVERY_TOKEN"]
	if strings.ContainsFunc(l.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		c.errs = append(c.errs, &Error{From: "$DISCOVERY_TOKEN", Problem: "has a blank, a line end or another character in it that no header Authorization carries; for example: openssl rand -hex 32"})
	}
	switch {
	case l.Address == "":
		c.unused(`has no effect: --lease-address "" turns the lease API off`, "leaseStore", "leasePolicy", "allowUnauthenticated")
	case l.Token != "" && c.Egress.Listen != "" && c.Egress.Tokens == "": // it is of the super-proxy
	case l.Token != "":
		c.unused("has no effect: $DISCOVERY_TOKEN is set", "allowUnauthenticated")
	case Loopback(l.Address), l.AllowUnauthenticated:
		c.warn("leaseAddress", fmt.Sprintf("%q asks for no token: everyone who can reach it leases proxies and is told their passwords; set DISCOVERY_TOKEN", l.Address))
	default:
		c.fail("leaseAddress", l.Address, "is reached by other machines, and without a token it would tell them the passwords of the proxies; set DISCOVERY_TOKEN,"+
			" or listen on 127.0.0.1:8090, or give --allow-unauthenticated where a firewall guards it")
	}
}

// store refuses what a shared store does not do.
func (c *fleetCheck) store() {
	if l := c.Leases; !l.InMemory() && l.Policy != lease.LeastLeases {
		c.fail("leasePolicy", string(l.Policy), "is only for --lease-store memory; leave it out")
	}
}

// egress is a client of the lease API in this process.
func (c *fleetCheck) egress() {
	switch {
	case c.Egress.Listen == "":
		c.unused("has no effect: --egress-listen says where the super-proxy listens", "egressTokens")
	case c.Leases.Address == "":
		c.fail("egressListen", c.Egress.Listen, "needs the lease API: give --lease-address")
	case c.Egress.Tokens != "":
		if !onDisk(c.Egress.Tokens) {
			c.fail("egressTokens", c.Egress.Tokens, "does not exist; 'gatehouse egress token NAME' makes a line of it")
		}
	case !c.Leases.AllowUnauthenticated:
		c.fail("egressTokens", "", "is missing: name the file of those who may use the super-proxy ('gatehouse egress token NAME' makes a line of it), or give --allow-unauthenticated with a loopback address for --egress-listen")
	case !Loopback(c.Egress.Listen):
		c.fail("egressListen", c.Egress.Listen, "is reached by other machines, and --allow-unauthenticated would let them use the fleet: give --egress-tokens, or listen on 127.0.0.1:3128")
	default:
		c.warn("egressListen", "lets everybody in who reaches "+c.Egress.Listen+": give --egress-tokens")
	}
}

// unused warns of settings that are given.
func (c *fleetCheck) unused(problem string, keys ...string) {
	for _, key := range keys {
		if c.isGiven(key) {
			c.warn(key, problem)
		}
	}
}

// distinct refuses one address for two listeners.
func (c *fleetCheck) distinct() {
	taken := map[string]string{}
	for _, l := range []struct{ key, address string }{
		{"adminAddress", c.AdminAddress}, {"metricsAddress", c.MetricsAddress}, {"leaseAddress", c.Leases.Address}, {"egressListen", c.Egress.Listen},
	} {
		if l.address == "" || strings.HasSuffix(l.address, ":0") {
			continue
		}
		if other := taken[l.address]; other != "" {
			c.fail(l.key, l.address, "is also --"+kebab(other)+"; give each its own port")
		}
		taken[l.address] = l.key
	}
}
