package xdsserve_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	cares_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// nameServer is a DNS server on loopback that drops every query until it is told
// to answer with 127.0.0.1.
type nameServer struct {
	conn    net.PacketConn
	mu      sync.Mutex
	answers bool
	waiting []func()
}

func startNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	s := &nameServer{conn: conn}
	var running sync.WaitGroup
	running.Go(s.serve)
	t.Cleanup(func() {
		conn.Close()
		running.Wait()
	})
	return s
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		reply := answer(buf[:n])
		s.later(func() { _, _ = s.conn.WriteTo(reply, from) })
	}
}

func (s *nameServer) later(send func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers {
		send()
	} else {
		s.waiting = append(s.waiting, send)
	}
}

// answer makes it answer what it got so far, and from now on.
func (s *nameServer) answer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = true
	for _, send := range s.waiting {
		send()
	}
}

func answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}

// dnsCluster is ready when the name server has answered.
func dnsCluster(t *testing.T, name string, s *nameServer, port int) xdsserve.Resource {
	t.Helper()
	host := &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: &envoy_core_v3.SocketAddress{
		Address: "backend.example", PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
	resolver := &cares_v3.CaresDnsResolverConfig{
		Resolvers:                []*envoy_core_v3.Address{udp(s.conn.LocalAddr().(*net.UDPAddr).Port)},
		DnsResolverOptions:       &envoy_core_v3.DnsResolverOptions{NoDefaultSearchDomain: true},
		UseResolversAsFallback:   false,
		FilterUnroutableFamilies: false,
	}
	r := resource(t, xdsserve.Cluster, name, &envoy_cluster_v3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &envoy_cluster_v3.Cluster_Type{Type: envoy_cluster_v3.Cluster_STRICT_DNS},
		DnsLookupFamily:      envoy_cluster_v3.Cluster_V4_ONLY,
		LoadAssignment:       assignment(name, host),
		TypedDnsResolverConfig: &envoy_core_v3.TypedExtensionConfig{
			Name: "envoy.network.dns_resolver.cares", TypedConfig: anyOf(t, resolver),
		},
	})
	r.SlowToWarm = true
	return r
}

func udp(port int) *envoy_core_v3.Address {
	a := loopback(port)
	a.GetSocketAddress().Protocol = envoy_core_v3.SocketAddress_UDP
	return a
}

// A cluster whose name never resolves holds back the table that moves to it, for
// the warm timeout, and nothing else: other tables are edited, and move to new
// clusters, meanwhile.
func TestNameServerDropsPackets(t *testing.T) {
	a, b, slowPort, port := backend(t, "a"), backend(t, "b"), freePort(t), freePort(t)
	dns := startNameServer(t)
	start := append(shop(t, port, a), table(t, "slow", "a"), listener(t, "slow", slowPort, "slow", "s"))
	r, _ := oneEnvoy(t, xdsserve.Options{}, start...)
	l, slow := startLoad(t, local(port)), startLoad(t, local(slowPort))
	mark := r.log.mark()
	r.Publish(set(dnsCluster(t, "dns", dns, a), table(t, "slow", "dns")))
	sent := r.log.untilEvent(mark, is(xdsserve.Sent, xdsserve.Cluster, "dns"))
	for i := range 20 {
		mark := r.log.mark()
		c := fmt.Sprint("c", i)
		r.Publish(set(append(cluster(t, c, b), table(t, "t", c, "a"))...))
		e := r.log.untilEvent(mark, is(xdsserve.Acknowledged, xdsserve.Routes, "t"))
		if sent := r.log.since(mark)[0]; e.At.Sub(sent.At) > 1900*time.Millisecond {
			t.Errorf("an edit of the other table took %v", e.At.Sub(sent.At))
		}
	}
	late := r.log.untilEvent(mark, is(xdsserve.WarmTimedOut, xdsserve.Routes, "slow"))
	if d := late.At.Sub(sent.At); d < 1900*time.Millisecond || d > 6*time.Second {
		t.Errorf("the table waited for %v, want 2s", d)
	}
	slow.more(t, 0)
	l.only(t, "200 a", "200 b")
	for answer := range slow.stop() {
		if answer != "200 a" && !strings.HasPrefix(answer, "503 ") {
			t.Errorf("the table with the slow cluster: %q", answer)
		}
	}
}

// A cluster that becomes ready lets its table go at once, and no request fails.
func TestSlowClusterBecomesReady(t *testing.T) {
	a, b, port := backend(t, "a"), backend(t, "b"), freePort(t)
	dns := startNameServer(t)
	r, _ := oneEnvoy(t, xdsserve.Options{WarmTimeout: patience}, shop(t, port, a)...)
	l := startLoad(t, local(port))
	mark := r.log.mark()
	u := set(dnsCluster(t, "dns", dns, b), table(t, "t", "dns"))
	u.Remove = append(scoped(xdsserve.Cluster, "a"), scoped(xdsserve.Endpoints, "a")...)
	r.Publish(u)
	l.more(t, 100)
	if slices.ContainsFunc(r.log.since(mark), is(xdsserve.Sent, xdsserve.Routes, "t")) {
		t.Fatal("the table went before its cluster was ready")
	}
	dns.answer()
	r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Cluster, "a"))
	l.more(t, 30)
	if got := ask(httpClient(t), local(port)); got != "200 b" {
		t.Errorf("%q, want 200 b", got)
	}
	if slices.ContainsFunc(r.log.since(mark), is(xdsserve.WarmTimedOut, xdsserve.Routes, "t")) {
		t.Error("the table timed out")
	}
	l.only(t, "200 a", "200 b")
}

// On a cold start behind a name that does not resolve, the endpoints of the other
// clusters still arrive.
func TestColdStartBehindASlowName(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	dns := startNameServer(t)
	r := newRig(t, xdsserve.Options{})
	r.Publish(set(append(shop(t, port, a), dnsCluster(t, "dns", dns, a), table(t, "slow", "dns"),
		listener(t, "slow", freePort(t), "slow", "s"))...))
	startEnvoy(r, "envoy-0")
	r.log.untilEvent(0, is(xdsserve.Sent, xdsserve.Cluster, "a", "dns"))
	dns.answer()
	r.settle(1, 1)
	if got := ask(httpClient(t), local(port)); got != "200 a" {
		t.Errorf("%q, want 200 a", got)
	}
}

// hostTable is a table of parts: each host, "domain cluster", is one.
func hostTable(t *testing.T, name string, hosts ...string) xdsserve.Resource {
	t.Helper()
	var whole envoy_route_v3.RouteConfiguration
	var parts []xdsserve.Part
	body := func(m proto.Message) []byte {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		must(t, err)
		return b
	}
	whole.Name = name
	from, uses := len(body(&whole)), []xdsserve.Name(nil)
	for _, h := range hosts {
		domain, cluster, _ := strings.Cut(h, " ")
		whole.VirtualHosts = append(whole.VirtualHosts, &envoy_route_v3.VirtualHost{
			Name: domain, Domains: []string{domain}, Routes: []*envoy_route_v3.Route{prefixRoute("/", cluster)},
		})
		to := len(body(&whole))
		use := names(xdsserve.Cluster, cluster)
		parts, uses, from = append(parts, xdsserve.Part{Name: domain, From: from, To: to, Uses: use}), append(uses, use...), to
	}
	whole.IgnorePortInHostMatching = true
	r := resource(t, xdsserve.Routes, name, &whole, uses...)
	r.Parts = parts
	return r
}

// In one table a host waits for its own cluster, and no other does; no request fails.
func TestHostOfATableWaitsAlone(t *testing.T) {
	a, b, port := backend(t, "a"), backend(t, "b"), freePort(t)
	dns := startNameServer(t)
	start := concat(cluster(t, "a", a), cluster(t, "b", b), []xdsserve.Resource{hostTable(t, "t", "127.0.0.1 a", "localhost a"), listener(t, "l", port, "t", "s")})
	r, _ := oneEnvoy(t, xdsserve.Options{WarmTimeout: patience}, start...)
	other := fmt.Sprintf("http://localhost:%d/", port)
	slow, quick := startLoad(t, local(port)), startLoad(t, other)
	r.Publish(set(dnsCluster(t, "dns", dns, b), hostTable(t, "t", "127.0.0.1 dns", "localhost b")))
	quick.until(t, "200 b")
	slow.more(t, 30)
	if got := ask(httpClient(t), local(port)); got != "200 a" {
		t.Errorf("the host that waits: %q, want 200 a", got)
	}
	dns.answer()
	slow.until(t, "200 b")
	slow.only(t, "200 a", "200 b")
	quick.only(t, "200 a", "200 b")
}
