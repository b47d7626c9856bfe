package envoy

import (
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// virtualHostsField is the number of RouteConfiguration.virtual_hosts.
const virtualHostsField = 2

// embed encodes a virtual host as the field of a route table that it is.
func embed(host *envoy_route_v3.VirtualHost) ([]byte, error) {
	body, err := marshal(host)
	if err != nil {
		return nil, err
	}
	out := protowire.AppendTag(nil, virtualHostsField, protowire.BytesType)
	return protowire.AppendBytes(out, body), nil
}

// assembleTable makes a route table of translated hosts. It only copies: the
// encoding of a message is the concatenation of the encodings of its fields, and
// the virtual hosts go where a deterministic encoder puts them.
func assembleTable(t model.RouteTable, hosts []*fragment) Output {
	name := string(t.ID)
	if err := checkName("id", name); err != nil {
		return failed(xdsserve.Routes, name, nil, err)
	}
	out := Output{}
	hosts = servable(hosts, &out)
	body, err := joinHosts(name, hosts, tableSettings())
	if err != nil {
		out.Failures = append(out.Failures, failure(xdsserve.Routes, name, nil, err))
		return out
	}
	uses, from := gather(hosts)
	out.Resource = seal(xdsserve.Routes, string(t.Gateway), name, body, uses, from)
	return out
}

// gather returns what the hosts use and come from.
func gather(hosts []*fragment) ([]xdsserve.Name, []string) {
	var m, n int
	for _, h := range hosts {
		m, n = m+len(h.uses), n+len(h.origins)
	}
	uses, from := make([]xdsserve.Name, 0, m), make([]string, 0, n)
	for _, h := range hosts {
		uses, from = append(uses, h.uses...), append(from, h.origins...)
	}
	return sortedUses(uses), sortedUnique(from)
}

// joinHosts encodes a table with hosts in their order.
func joinHosts(name string, hosts []*fragment, settings *envoy_route_v3.RouteConfiguration) ([]byte, error) {
	head, err := marshal(&envoy_route_v3.RouteConfiguration{Name: name})
	if err != nil {
		return nil, err
	}
	tail, err := marshal(settings)
	if err != nil {
		return nil, err
	}
	size := len(head) + len(tail)
	for _, h := range hosts {
		size += len(h.body)
	}
	body := append(make([]byte, 0, size), head...)
	for _, h := range hosts {
		body = append(body, h.body...)
	}
	return append(body, tail...), nil
}

// tableSettings are what all tables have in common. A port in the request's
// host is no part of the name. Clusters arrive on their own; a table is valid
// without them.
func tableSettings() *envoy_route_v3.RouteConfiguration {
	return &envoy_route_v3.RouteConfiguration{
		ValidateClusters:         wrapperspb.Bool(false),
		IgnorePortInHostMatching: true,
	}
}

// servable takes the failures of hosts, and leaves out those that could not be made.
func servable(hosts []*fragment, out *Output) []*fragment {
	kept := make([]*fragment, 0, len(hosts))
	for _, h := range hosts {
		out.Failures = append(out.Failures, h.failures...)
		if len(h.body) > 0 {
			kept = append(kept, h)
		}
	}
	return kept
}
