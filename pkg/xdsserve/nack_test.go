package xdsserve_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// nackCase is one way in which Envoy refuses a response: a change of good resources
// and a bad one, over what it has to have to ask for them.
type nackCase struct {
	before []xdsserve.Resource
	good   []xdsserve.Resource
	bad    xdsserve.Resource
	says   string // part of Envoy's words
	wild   bool   // Envoy asks for all of the type, and not by name
}

// nackCases are the rows of what a refusal means, by type.
func nackCases(t *testing.T) map[string]func() nackCase {
	t.Helper()
	return map[string]func() nackCase{
		"cluster by meaning": func() nackCase {
			return clusterCase(t, func(c *envoy_cluster_v3.Cluster) { c.LbPolicy = envoy_cluster_v3.Cluster_CLUSTER_PROVIDED }, "did not provide one")
		},
		"cluster by form": func() nackCase {
			return clusterCase(t, func(c *envoy_cluster_v3.Cluster) { c.ConnectTimeout = durationpb.New(-time.Second) }, "Expected positive duration")
		},
		"endpoints":               func() nackCase { return endpointsCase(t) },
		"table by its expression": func() nackCase { return tableCase(t, badExpression, "no argument for repetition operator") },
		"table by its domains":    func() nackCase { return tableCase(t, twoOfADomain, "Only a single wildcard domain") },
		"secret":                  func() nackCase { return secretCase(t, true) },
		"new secret":              func() nackCase { return secretCase(t, false) },
		"scope by its expression": func() nackCase { return scopeCase(t, badExpression, "no argument for repetition operator") },
		"scope by its format":     func() nackCase { return scopeCase(t, badFormat, "NOPE") },
		"scope by its key":        func() nackCase { return scopeCase(t, nil, "scope key conflict found, first scope is 'x/taken'") },
		"listener by meaning":     func() nackCase { return listenerCase(t) },
	}
}

func clusterCase(t *testing.T, spoil func(*envoy_cluster_v3.Cluster), says string) nackCase {
	t.Helper()
	c := nackCase{before: shop(t, freePort(t), freePort(t)), says: says, wild: true}
	for i := range 5 {
		c.good = append(c.good, cluster(t, fmt.Sprint("g", i), freePort(t))...)
	}
	bad := edsCluster("g2bad")
	spoil(bad)
	c.bad = resource(t, xdsserve.Cluster, "g2bad", bad, names(xdsserve.Endpoints, "g2bad")...)
	return c
}

func endpointsCase(t *testing.T) nackCase {
	t.Helper()
	c := nackCase{before: append(shop(t, freePort(t), freePort(t)), cluster(t, "g2bad", freePort(t))...), says: "malformed IP address"}
	for i := range 5 {
		name := fmt.Sprint("g", i)
		c.before = append(c.before, cluster(t, name, freePort(t))...)
		c.good = append(c.good, eds(t, name, 1000+i))
	}
	nowhere := loopback(1)
	nowhere.GetSocketAddress().Address = "nowhere"
	c.bad = resource(t, xdsserve.Endpoints, "g2bad", assignment("g2bad", nowhere))
	return c
}

func badExpression(rc *envoy_route_v3.RouteConfiguration) {
	rc.VirtualHosts[0].Routes[0].Match.PathSpecifier = &envoy_route_v3.RouteMatch_SafeRegex{SafeRegex: &envoy_matcher_v3.RegexMatcher{Regex: "*"}}
}

func twoOfADomain(rc *envoy_route_v3.RouteConfiguration) {
	rc.VirtualHosts = append(rc.VirtualHosts, &envoy_route_v3.VirtualHost{Name: "again", Domains: []string{"*"}})
}

func badFormat(rc *envoy_route_v3.RouteConfiguration) {
	rc.VirtualHosts[0].RequestHeadersToAdd = []*envoy_core_v3.HeaderValueOption{{Header: &envoy_core_v3.HeaderValue{Key: "x", Value: "%NOPE%"}}}
}

func tableCase(t *testing.T, spoil func(*envoy_route_v3.RouteConfiguration), says string) nackCase {
	t.Helper()
	c := nackCase{before: concat(cluster(t, "a", freePort(t)), cluster(t, "b", freePort(t))), says: says}
	for _, name := range []string{"g0", "g1", "g2bad", "g3", "g4"} {
		c.before = append(c.before, table(t, name, "a"), listener(t, "l"+name, freePort(t), name, "s"))
		if name != "g2bad" {
			c.good = append(c.good, table(t, name, "b"))
		}
	}
	message := new(envoy_route_v3.RouteConfiguration)
	must(t, proto.Unmarshal(table(t, "g2bad", "b").Body, message))
	spoil(message)
	c.bad = resource(t, xdsserve.Routes, "g2bad", message, names(xdsserve.Cluster, "b")...)
	return c
}

// secretCase has listeners that show certificates, and a pair that does not match.
func secretCase(t *testing.T, known bool) nackCase {
	t.Helper()
	c := nackCase{before: shop(t, freePort(t), freePort(t)), says: "KEY_VALUES_MISMATCH"}
	for _, name := range []string{"g0", "g1", "g2bad", "g3", "g4"} {
		c.before = append(c.before, tlsListener(t, "l"+name, freePort(t), name))
		if known {
			c.before = append(c.before, secret(t, name, "before"))
		}
		if name != "g2bad" {
			c.good = append(c.good, secret(t, name, "after"))
		}
	}
	pair, other := new(tls_v3.Secret), new(tls_v3.Secret)
	must(t, proto.Unmarshal(secret(t, "g2bad", "one").Body, pair))
	must(t, proto.Unmarshal(secret(t, "g2bad", "other").Body, other))
	pair.GetTlsCertificate().PrivateKey = other.GetTlsCertificate().GetPrivateKey()
	c.bad = resource(t, xdsserve.Secret, "g2bad", pair)
	return c
}

// scopeCase is a bad scope among 300 good ones; without a way to spoil it, it has the
// key of another.
func scopeCase(t *testing.T, spoil func(*envoy_route_v3.RouteConfiguration), says string) nackCase {
	t.Helper()
	c := nackCase{
		before: concat(cluster(t, "a", freePort(t)), []xdsserve.Resource{rest(t), scope(t, "taken", 0, "a"), scopedListener(t, "l", freePort(t))}),
		says:   says, wild: true,
	}
	for i := range 300 {
		c.good = append(c.good, scope(t, fmt.Sprintf("g%03d", i), 0, "a"))
	}
	message := new(envoy_route_v3.ScopedRouteConfiguration)
	must(t, proto.Unmarshal(scope(t, "g150bad", 0, "a").Body, message))
	if spoil != nil {
		spoil(message.GetRouteConfiguration())
	} else {
		message.GetKey().GetFragments()[0].Type = &envoy_route_v3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: "taken"}
	}
	c.bad = resource(t, xdsserve.Scopes, "x/g150bad", message, names(xdsserve.Cluster, "a")...)
	return c
}

// listenerCase has a listener with two chains for the same connections.
func listenerCase(t *testing.T) nackCase {
	t.Helper()
	c := nackCase{before: shop(t, freePort(t), freePort(t)), says: "same matching rules", wild: true}
	for i := range 5 {
		c.good = append(c.good, listener(t, fmt.Sprint("g", i), freePort(t), "t", "s"))
	}
	bad := listenerMessage(t, "g2bad", freePort(t), "t", "s")
	second := proto.CloneOf(bad.FilterChains[0])
	second.Name = "second"
	bad.FilterChains = append(bad.FilterChains, second)
	c.bad = resource(t, xdsserve.Listener, "g2bad", bad, names(xdsserve.Routes, "t")...)
	return c
}

// Envoy refuses a response as a whole, whatever it applied of it. The bad resource is
// found and named with its origin, the good ones are acknowledged, and a server that
// is started anew need send none of them again.
func TestRefusalsByType(t *testing.T) {
	for name, build := range nackCases(t) {
		t.Run(name, func(t *testing.T) {
			c := build()
			r := scopedEnvoy(t, c.before...)
			mark := r.log.mark()
			r.set(append(slices.Clone(c.good), c.bad)...)
			refused := r.Ledger(group)[0].Refused
			if len(refused) != 1 || refused[0].Name != c.bad.Name || !strings.Contains(refused[0].Message, c.says) {
				t.Fatalf("refused %q, want %s with %q\n%s", refusals(r), c.bad.Name.Name, c.says, lines(r.log.since(mark)))
			}
			if want := []string{"origin of " + c.bad.Name.Name}; !slices.Equal(refused[0].Origins, want) {
				t.Errorf("origins %q, want %q", refused[0].Origins, want)
			}
			together := r.log.untilEvent(mark, func(e xdsserve.Event) bool { return e.Kind == xdsserve.Doubted })
			if of := ofType(c.good, c.bad.Type); len(together.Names) != len(of)+1 {
				t.Errorf("%d resources went together, want %d", len(together.Names), len(of)+1)
			}
			r.stop()
			mark = r.log.mark()
			r.start(xdsserve.Options{})
			r.settle(r.Publish(set(concat(without(c.before, c.good), c.good)...)), 1)
			for _, e := range r.log.since(mark) {
				if e.Kind == xdsserve.Sent && len(e.Names) > 0 && e.Type == c.bad.Type {
					t.Errorf("what it had recorded was sent again: %s", line(e))
				}
			}
			if st := r.Standing(group, ofType(c.good, c.bad.Type)...); st.Acknowledged != 1 {
				t.Errorf("after the reconnect: %+v", st)
			}
		})
	}
}

// ofType are the names of a type.
func ofType(rs []xdsserve.Resource, typ xdsserve.Type) []xdsserve.Name {
	var of []xdsserve.Name
	for _, r := range rs {
		if r.Type == typ {
			of = append(of, r.Name)
		}
	}
	return of
}

// without is what was there before, without what changed; of the bad one, which was
// refused, what it was before stays.
func without(before, changed []xdsserve.Resource) []xdsserve.Resource {
	return slices.DeleteFunc(slices.Clone(before), func(r xdsserve.Resource) bool {
		return slices.ContainsFunc(changed, func(c xdsserve.Resource) bool { return c.Name == r.Name })
	})
}

// The connection breaks just after Envoy has refused a response, of which it may have
// applied any part and recorded none; and meanwhile all of it is withdrawn. Nothing
// of it is left.
func TestNoGhostAfterARefusal(t *testing.T) {
	for name, build := range nackCases(t) {
		c := build()
		if !c.wild {
			continue // what nobody asks for any more is gone
		}
		t.Run(name, func(t *testing.T) {
			r := scopedRig(t)
			r.settle(r.Publish(set(c.before...)), 0)
			e := startEnvoy(r, "envoy-0")
			r.settle(1, 1)
			mark := r.log.mark()
			r.log.cutAt(xdsserve.Doubted, r.cut)
			var u xdsserve.Update
			for _, g := range append(slices.Clone(c.good), c.bad) {
				u.Remove = append(u.Remove, xdsserve.Scoped{Group: group, Name: g.Name})
			}
			r.Publish(set(append(slices.Clone(c.good), c.bad)...))
			r.log.untilEvent(mark, func(e xdsserve.Event) bool { return e.Kind == xdsserve.Disconnected })
			r.settle(r.Publish(u), 1)
			r.log.untilEvent(mark, func(e xdsserve.Event) bool {
				return e.Kind == xdsserve.Acknowledged && slices.Contains(e.Removed, c.good[0].Name.Name)
			})
			var left []string
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
				if left = e.has(t, append(ofType(c.good, c.bad.Type), c.bad.Name)); len(left) == 0 {
					return
				}
			}
			t.Errorf("these are still there: %q", left)
		})
	}
}

// has returns which names Envoy serves or drains.
func (e *envoy) has(t *testing.T, names []xdsserve.Name) []string {
	t.Helper()
	resp, err := e.admin.Get("http://envoy/config_dump?include_eds")
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	var there []string
	for _, n := range names {
		if strings.Contains(string(text), fmt.Sprintf("%q", n.Name)) {
			there = append(there, n.Name)
		}
	}
	return there
}

// fragile is a listener whose connections can be cut.
type fragile struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (f *fragile) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	if err == nil {
		f.mu.Lock()
		f.conns = append(f.conns, conn)
		f.mu.Unlock()
	}
	return conn, err
}

func (f *fragile) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.Close()
	}
	f.conns = nil
}
