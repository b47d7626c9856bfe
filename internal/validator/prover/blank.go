package prover

import (
	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// blankTable is the route table that listeners name; it has no host.
var blankTable = xdsserve.Name{Type: xdsserve.Routes, Name: "blank"}

// blanks are what is always there: the empty table, the rest of the set of scopes, and
// a cluster that uses it: nothing is settled before the proving Envoy has asked for scopes.
func blanks() ([]xdsserve.Resource, error) {
	table, err := proto.Marshal(&envoy_route_v3.RouteConfiguration{Name: blankTable.Name})
	if err != nil {
		return nil, err
	}
	cluster, err := proto.Marshal(&envoy_cluster_v3.Cluster{Name: blankTable.Name})
	rest := xdsserve.Name{Type: xdsserve.Scopes, Name: scopeSet}
	return []xdsserve.Resource{
		blank(blankTable, table),
		blank(rest, scopeOf(rest.Name, appendBytes(nil, scopeTable, table))),
		blank(xdsserve.Name{Type: xdsserve.Cluster, Name: blankTable.Name}, cluster, rest),
	}, err
}

func blank(name xdsserve.Name, body []byte, uses ...xdsserve.Name) xdsserve.Resource {
	return xdsserve.Resource{Name: name, Group: Group, Body: body, Version: "blank", Uses: uses}
}
