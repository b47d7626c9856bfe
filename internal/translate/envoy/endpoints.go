package envoy

import (
	"net/netip"
	"slices"
	"strconv"

	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// translateEndpoints makes the addresses of one backend, for all proxies.
// Draining addresses have a priority of their own below the others: Envoy turns
// to them when, and only when, there is no other. Marking them unhealthy
// instead would bring them back as soon as they were the majority.
func translateEndpoints(e model.Endpoints) Output {
	name := string(e.Cluster)
	if err := checkName("cluster", name); err != nil {
		return failed(xdsserve.Endpoints, name, e.Origins, err)
	}
	for i, a := range e.Addresses {
		if err := checkAddress("addresses["+strconv.Itoa(i)+"]", a.Address); err != nil {
			return failed(xdsserve.Endpoints, name, e.Origins, err)
		}
	}
	assignment := &envoy_endpoint_v3.ClusterLoadAssignment{ClusterName: name}
	for _, draining := range []bool{false, true} {
		if group := addresses(e.Addresses, draining); len(group) > 0 {
			assignment.Endpoints = append(assignment.Endpoints, locality(group, uint32(len(assignment.Endpoints))))
		}
	}
	return output(xdsserve.Endpoints, "", name, assignment, nil, e.Origins)
}

func checkAddress(field string, a netip.AddrPort) error {
	if !a.IsValid() || a.Port() == 0 || a.Addr().Zone() != "" {
		return faultf(field, a.String(), "not an endpoint: use an IP address without zone and a port between 1 and 65535")
	}
	return nil
}

func addresses(all []model.Endpoint, draining bool) []netip.AddrPort {
	var out []netip.AddrPort
	for _, e := range all {
		if e.Draining == draining {
			out = append(out, e.Address)
		}
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

func locality(group []netip.AddrPort, priority uint32) *envoy_endpoint_v3.LocalityLbEndpoints {
	out := &envoy_endpoint_v3.LocalityLbEndpoints{Priority: priority}
	for _, a := range group {
		out.LbEndpoints = append(out.LbEndpoints, lbEndpoint(socketAddress(a)))
	}
	return out
}
