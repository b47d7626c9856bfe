package envoy

import (
	"slices"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// inOneGo is the body of a resource with the pieces of a field put together.
func inOneGo(r xdsserve.Resource) []byte {
	if r.Type != xdsserve.Scopes {
		return r.Body
	}
	var rest, table []byte
	for body := r.Body; len(body) > 0; {
		number, _, n := protowire.ConsumeField(body)
		if n < 0 {
			return nil
		}
		if number == scopeField {
			_, _, tag := protowire.ConsumeTag(body)
			piece, _ := protowire.ConsumeBytes(body[tag:])
			table = append(table, piece...)
		} else {
			rest = append(rest, body[:n]...)
		}
		body = body[n:]
	}
	return protowire.AppendBytes(protowire.AppendTag(rest, scopeField, protowire.BytesType), table)
}

// checkParts demands that each part is one host: without it the others are there, as
// they were.
func checkParts(t *rapid.T, r xdsserve.Resource) {
	hosts := hostsOf(t, r)
	if len(r.Parts) == 0 {
		return
	}
	if len(r.Parts) != len(hosts) {
		t.Fatalf("%d parts for the hosts %q", len(r.Parts), hosts)
	}
	var uses []xdsserve.Name
	for i, p := range r.Parts {
		uses = append(uses, p.Uses...)
		without := r
		without.Body = slices.Concat(r.Body[:p.From], r.Body[p.To:])
		want := slices.Delete(slices.Clone(hosts), i, i+1)
		if got := hostsOf(t, without); p.Name != hosts[i] || !slices.Equal(got, want) {
			t.Fatalf("without %q of %q there is %q", p.Name, hosts, got)
		}
	}
	if !slices.Equal(sortedUses(uses), r.Uses) {
		t.Fatalf("the parts use %v, the whole %v", uses, r.Uses)
	}
}

// hostsOf are the names of a table's virtual hosts, in order.
func hostsOf(t *rapid.T, r xdsserve.Resource) []string {
	body, err := Message(r)
	if err != nil {
		t.Fatal(err)
	}
	table, ok := body.(*envoy_route_v3.RouteConfiguration)
	if scope, scoped := body.(*envoy_route_v3.ScopedRouteConfiguration); scoped {
		table, ok = scope.GetRouteConfiguration(), true
	}
	if !ok {
		return nil
	}
	var names []string
	for _, h := range table.GetVirtualHosts() {
		names = append(names, h.GetName())
	}
	return names
}
