package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// view is everything that proxies would have.
type view map[xdsserve.Scoped]xdsserve.Resource

func viewOf(all ...xdsserve.Resource) view {
	v := view{}
	for _, r := range all {
		v[xdsserve.Scoped{Group: r.Group, Name: r.Name}] = r
	}
	return v
}

// from is a candidate that follows what was accepted last.
func (v view) from(accepted view) validator.Candidate {
	return validator.Candidate{
		Delta: accepted.to(v), Inverse: v.to(accepted), Baseline: maps.Values(accepted), All: maps.Values(v),
	}
}

func (v view) to(next view) (u xdsserve.Update) {
	for name, r := range next {
		if !v[name].Equal(r) {
			u.Set = append(u.Set, r)
		}
	}
	for name := range v {
		if _, stays := next[name]; !stays {
			u.Remove = append(u.Remove, name)
		}
	}
	return u
}

func resourceOf(t testing.TB, kind xdsserve.Type, name string, body proto.Message, origins ...string) xdsserve.Resource {
	t.Helper()
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return xdsserve.Resource{
		Name: xdsserve.Name{Type: kind, Name: name}, Group: "shop/edge", Body: text,
		Version: fmt.Sprintf("%x", text), Origins: origins,
	}
}

// table is a route table of one host.
func table(t testing.TB, name, host string) xdsserve.Resource {
	t.Helper()
	return resourceOf(t, xdsserve.Routes, name, &envoy_route_v3.RouteConfiguration{
		Name: name, VirtualHosts: []*envoy_route_v3.VirtualHost{{Name: host, Domains: []string{host}}},
	}, "Gateway shop/edge", "HTTPRoute shop/"+name)
}

func secret(t testing.TB, key string) xdsserve.Resource {
	t.Helper()
	inline := func(text string) *envoy_core_v3.DataSource {
		return &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineString{InlineString: text}}
	}
	return resourceOf(t, xdsserve.Secret, "shop/certificate", &envoy_tls_v3.Secret{
		Name: "shop/certificate",
		Type: &envoy_tls_v3.Secret_TlsCertificate{TlsCertificate: &envoy_tls_v3.TlsCertificate{
			CertificateChain: inline("a chain"), PrivateKey: inline(key),
		}},
	}, "Secret shop/certificate")
}

// patience is the limit of programs that answer; none comes near it.
const patience = 30 * time.Second

// script is a program with these lines.
func script(t testing.TB, lines string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "check")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func options(t testing.TB, command ...string) Options {
	t.Helper()
	return Options{
		Name: "check", Command: command, Timeout: patience, Types: []xdsserve.Type{xdsserve.Routes},
		Dir: filepath.Join(t.TempDir(), "validators", "check"), Render: envoy.JSON,
	}
}

// seen are the resources that a program sees, by the file's path below the candidate.
func (f *files) seen(t testing.TB) map[string]resource {
	t.Helper()
	out := map[string]resource{}
	paths, err := filepath.Glob(filepath.Join(f.candidate(), "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var r resource
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[path[len(f.candidate())+1:]] = r
	}
	return out
}

// names are the names and versions of resources, in order.
func names(all map[string]resource) (out []string) {
	for _, r := range all {
		out = append(out, r.Type+" "+r.Group+" "+r.Name+" "+r.Version)
	}
	return slices.Sorted(slices.Values(out))
}

func (v view) names() (out []string) {
	for _, r := range v {
		out = append(out, r.Type.Short()+" "+r.Group+" "+r.Name.Name+" "+r.Version)
	}
	return slices.Sorted(slices.Values(out))
}
