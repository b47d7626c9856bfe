package index_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

var _ discovery.Resolver = (*index.Index)(nil)

// service is one in namespace shop, made a number of seconds ago, with more labels.
func service(name string, age int, labels ...string) *core_v1.Service {
	s := &core_v1.Service{
		Namespace: "shop", Name: name, UID: types.UID(name),
		CreationTimestamp: meta_v1.NewTime(time.Unix(int64(1_000_000-age), 0)),
		Labels:            map[string]string{"xdatabase-proxy-deployment-id": "orders"},
		Spec: core_v1.ServiceSpec{
			ClusterIP: "10.96.0.1", IPFamilies: []core_v1.IPFamily{core_v1.IPv4Protocol},
			Ports: []core_v1.ServicePort{{Name: "postgres", Port: 5432}},
		},
	}
	for i := 0; i < len(labels); i += 2 {
		s.Labels["xdatabase-proxy-"+labels[i]] = labels[i+1]
		if labels[i+1] == "" {
			delete(s.Labels, "xdatabase-proxy-"+labels[i])
		}
	}
	return s
}

// slice is one of a Service in namespace shop. An endpoint that ends in "!" is not
// ready, one in "†" terminates.
func slice(name, service string, endpoints ...string) *discovery_v1.EndpointSlice {
	s := &discovery_v1.EndpointSlice{
		Namespace: "shop", Name: name, Labels: map[string]string{discovery_v1.LabelServiceName: service},
		AddressType: discovery_v1.AddressTypeIPv4,
		Ports:       []discovery_v1.EndpointPort{{Name: new("postgres"), Port: new(int32(5433))}},
	}
	for _, e := range endpoints {
		one := discovery_v1.Endpoint{Conditions: discovery_v1.EndpointConditions{Ready: new(true)}}
		switch text := []rune(e); text[len(text)-1] {
		case '!':
			one.Conditions.Ready = new(false)
			e = string(text[:len(text)-1])
		case '†':
			one.Conditions.Terminating = new(true)
			e = string(text[:len(text)-1])
		}
		one.Addresses = []string{e}
		s.Endpoints = append(s.Endpoints, one)
	}
	return s
}

// options are those of a usual cluster.
var options = index.Options{ClusterDomain: "cluster.local"}

// indexOf knows these Services and slices.
func indexOf(o index.Options, objects ...meta_v1.Object) *index.Index {
	x := index.New(o)
	var services []*core_v1.Service
	var all []*discovery_v1.EndpointSlice
	for _, object := range objects {
		switch object := object.(type) {
		case *core_v1.Service:
			services = append(services, object)
		case *discovery_v1.EndpointSlice:
			all = append(all, object)
		}
	}
	x.ReplaceServices("", services)
	x.ReplaceSlices("", all)
	x.Synced()
	return x
}

// addresses are all that new sessions dial, sorted: none for a deployment that is not
// ready.
func addresses(t *testing.T, x *index.Index, deployment string, pooled bool) []string {
	t.Helper()
	seen := map[string]bool{}
	for range 64 {
		target, err := x.Resolve(deployment, pooled)
		if _, soon := errors.AsType[*discovery.NotReadyError](err); soon {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		seen[target.Address] = true
	}
	var out []string
	for address := range seen {
		out = append(out, address)
	}
	slices.Sort(out)
	return out
}

func gone(e index.Effects) []string {
	var out []string
	for _, target := range e.Gone {
		out = append(out, target.Address)
	}
	slices.Sort(out)
	return out
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
