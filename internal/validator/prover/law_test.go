package prover_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	envoy_accesslog_v3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_filelog_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/prover"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/proving"
)

// "Law: for every scenario and bad-input case its verdict equals that of a complete
// binding Envoy, bind errors excepted": the scenarios are in test/scenarios.
func TestVerdictEqualsThatOfAServingEnvoy(t *testing.T) {
	proof, serving := newRig(t, prover.Options{}), proving.Serve(t, edge)
	var accepted []xdsserve.Resource
	for _, c := range badInputs(t) {
		t.Run(c.name, func(t *testing.T) {
			want := serving.Refuses(t, c.resources)
			v := proof.Try(t, proving.Change(accepted, c.resources))
			if v.Unavailable != "" {
				t.Fatal(v.Unavailable)
			}
			if got := namesOf(v.Refusals); !slices.Equal(got, want) {
				t.Errorf("the proving Envoy refuses %v, one that serves refuses %v: %+v", got, want, v.Refusals)
			}
			if (len(want) > 0) != c.bad {
				t.Errorf("refused: %v, want some: %t", want, c.bad)
			}
			if len(v.Refusals) == 0 {
				accepted = c.resources
			}
		})
	}
}

func namesOf(refusals []validator.Refusal) []xdsserve.Name {
	var out []xdsserve.Name
	for _, r := range refusals {
		for _, of := range r.Resources {
			out = append(out, of.Name)
		}
	}
	slices.SortFunc(out, func(a, b xdsserve.Name) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name)) })
	return slices.Compact(out)
}

type input struct {
	name      string
	bad       bool
	resources []xdsserve.Resource
}

// badInputs are complete resources of one Gateway, each with one thing that may be wrong.
func badInputs(t *testing.T) []input {
	t.Helper()
	pair, err := tlsutil.SelfSigned(tlsutil.From(time.Now(), time.Hour), "a.example")
	must(t, err)
	other, err := tlsutil.SelfSigned(tlsutil.From(time.Now(), time.Hour), "a.example")
	must(t, err)
	of := func(more ...xdsserve.Resource) []xdsserve.Resource {
		return append([]xdsserve.Resource{
			cluster(edge, "app"), resource("", xdsserve.Endpoints, "app", nobody("app")),
			using(listener(edge, "80", "0.0.0.0", 18080), xdsserve.Routes, "80"), table(edge, "80", virtualHost("good.example", "")),
		}, more...)
	}
	site := func(name string, port int, hosts xdsserve.Resource) []xdsserve.Resource {
		return of(using(listener(edge, name, "0.0.0.0", port), xdsserve.Routes, name), hosts)
	}
	edit := func(f func(*envoy_cluster_v3.Cluster)) []xdsserve.Resource { return of(static("edited", f)) }
	tls := using(listener(edge, "443", "0.0.0.0", 18443, withCertificate("pair")), xdsserve.Secret, "pair")
	return []input{
		{"good", false, of()},
		{"cluster of no known kind", true, of(static("bad", func(c *envoy_cluster_v3.Cluster) { c.LbPolicy = envoy_cluster_v3.Cluster_CLUSTER_PROVIDED }))},
		{"cluster with a timeout below zero", true, edit(func(c *envoy_cluster_v3.Cluster) { c.ConnectTimeout = durationpb.New(-time.Second) })},
		{"cluster with a bad authority", true, edit(func(c *envoy_cluster_v3.Cluster) { c.TransportSocket = trusting("no certificate") })},
		{"cluster with a good authority", false, edit(func(c *envoy_cluster_v3.Cluster) { c.TransportSocket = trusting(string(pair.Cert)) })},
		{"cluster with an unknown socket", true, edit(func(c *envoy_cluster_v3.Cluster) {
			c.TransportSocket = &envoy_core_v3.TransportSocket{Name: "no.such.socket", ConfigType: &envoy_core_v3.TransportSocket_TypedConfig{TypedConfig: pack(durationpb.New(0))}}
		})},
		{"expression", true, site("81", 18081, table(edge, "81", virtualHost("good.example", ""), virtualHost("bad.example", badExpression)))},
		{"expression of many", false, site("82", 18082, table(edge, "82", virtualHost("good.example", "/a.{1,100}b")))},
		{"expression too large", true, site("83", 18083, table(edge, "83", virtualHost("bad.example", "/(((a{1,99}){1,99}){1,9})")))},
		{"one domain twice", true, site("84", 18084, table(edge, "84", virtualHost("good.example", ""), virtualHost("GOOD.example", "")))},
		{"certificate and its key", false, of(tls, secret(edge, "pair", pair.Cert, pair.Key), table(edge, "443"))},
		{"certificate and another key", true, of(tls, secret(edge, "pair", pair.Cert, other.Key), table(edge, "443"))},
		{"certificate that is none", true, of(tls, secret(edge, "pair", []byte("-----BEGIN CERTIFICATE-----"), pair.Key), table(edge, "443"))},
		{"log in a directory that is not there", true, of(listener(edge, "85", "0.0.0.0", 18085, logging("/no/such/directory/log")), table(edge, "85"))},
		{"log to nowhere", false, of(using(listener(edge, "86", "0.0.0.0", 18086, logging("/dev/null")), xdsserve.Routes, "86"), table(edge, "86"))},
		{"datagrams", false, of(listener(edge, "udp", "0.0.0.0", 18053, ofDatagrams))},
		{"datagrams without a filter", false, of(listener(edge, "udp", "0.0.0.0", 18054, ofDatagrams, func(l *envoy_listener_v3.Listener) { l.ListenerFilters = nil }))},
		{"datagrams at an address that is taken", true, of(listener(edge, "a", "0.0.0.0", 18055, ofDatagrams), listener(edge, "b", "0.0.0.0", 18055, ofDatagrams))},
		{"address that is no address", true, of(listener(edge, "name", "localhost", 18087))},
		{"listener without a chain", true, of(listener(edge, "88", "0.0.0.0", 18088, func(l *envoy_listener_v3.Listener) { l.FilterChains = nil }))},
		{"two chains for one name", true, of(listener(edge, "89", "0.0.0.0", 18089, func(l *envoy_listener_v3.Listener) {
			l.FilterChains = append(l.GetFilterChains(), l.GetFilterChains()...)
		}))},
		{"good again", false, of()},
	}
}

// static has no endpoints.
func static(name string, change func(*envoy_cluster_v3.Cluster)) xdsserve.Resource {
	return cluster(edge, name, func(c *envoy_cluster_v3.Cluster) {
		c.ClusterDiscoveryType, c.EdsClusterConfig, c.LoadAssignment = nil, nil, nobody(name)
		change(c)
	})
}

func trusting(authority string) *envoy_core_v3.TransportSocket {
	return &envoy_core_v3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &envoy_core_v3.TransportSocket_TypedConfig{
		TypedConfig: pack(&envoy_tls_v3.UpstreamTlsContext{CommonTlsContext: &envoy_tls_v3.CommonTlsContext{
			ValidationContextType: &envoy_tls_v3.CommonTlsContext_ValidationContext{ValidationContext: &envoy_tls_v3.CertificateValidationContext{
				TrustedCa: &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineString{InlineString: authority}},
			}},
		}}),
	}}
}

func logging(path string) func(*envoy_listener_v3.Listener) {
	return func(l *envoy_listener_v3.Listener) {
		l.AccessLog = []*envoy_accesslog_v3.AccessLog{{
			Name: "file", ConfigType: &envoy_accesslog_v3.AccessLog_TypedConfig{TypedConfig: pack(&envoy_filelog_v3.FileAccessLog{Path: path})},
		}}
	}
}

// using adds what a resource refers to.
func using(r xdsserve.Resource, t xdsserve.Type, name string) xdsserve.Resource {
	r.Uses = append(slices.Clone(r.Uses), xdsserve.Name{Type: t, Name: name})
	return r
}
