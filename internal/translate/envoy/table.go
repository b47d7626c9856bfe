package envoy

import (
	"slices"

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
// the virtual hosts go where a deterministic encoder puts them. Each host is a part,
// so that it waits only for its own clusters.
func assembleTable(t model.RouteTable, hosts []*fragment) Output {
	name := string(t.ID)
	if err := checkName("id", name); err != nil {
		return failed(xdsserve.Routes, name, nil, err)
	}
	out := Output{}
	hosts = servable(hosts, &out)
	var table joined
	if err := table.joinHosts(name, hosts, tableSettings()); err != nil {
		out.Failures = append(out.Failures, failure(xdsserve.Routes, name, nil, err))
		return out
	}
	uses, from := gather(hosts)
	out.Resource = seal(xdsserve.Routes, string(t.Gateway), name, table.body, uses, from)
	out.Resource.Parts = table.parts
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

// joined is an encoded table, and where its hosts are.
type joined struct {
	body  []byte
	parts []xdsserve.Part
	// within is the field that the table is in a message around it; 0 for none. It
	// is given piece by piece: decoders merge what they find of one field.
	within protowire.Number
}

// joinHosts appends a table with hosts in their order.
func (j *joined) joinHosts(name string, hosts []*fragment, settings *envoy_route_v3.RouteConfiguration) error {
	head, err := marshal(&envoy_route_v3.RouteConfiguration{Name: name})
	if err != nil {
		return err
	}
	tail, err := marshal(settings)
	if err != nil {
		return err
	}
	size := len(head) + len(tail)
	for _, h := range hosts {
		size += len(h.body) + maxFieldHead
	}
	j.body, j.parts = slices.Grow(j.body, size), make([]xdsserve.Part, 0, len(hosts))
	j.add(head)
	for _, h := range hosts {
		from := len(j.body)
		j.add(h.body)
		j.parts = append(j.parts, xdsserve.Part{Name: h.domain, From: from, To: len(j.body), Uses: h.uses})
	}
	j.add(tail)
	return nil
}

// maxFieldHead is the most that the tag and the length of a piece take.
const maxFieldHead = 8

func (j *joined) add(piece []byte) {
	if j.within == 0 {
		j.body = append(j.body, piece...)
		return
	}
	j.body = protowire.AppendBytes(protowire.AppendTag(j.body, j.within, protowire.BytesType), piece)
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
