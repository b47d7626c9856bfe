package envoy

import (
	"strconv"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// mirror copies requests to other clusters, under the host that the request has:
// without being told, Envoy would add "-shadow" to it.
func mirror(action *envoy_route_v3.RouteAction, mirrors []model.Mirror) ([]xdsserve.Name, error) {
	var uses []xdsserve.Name
	for i, m := range mirrors {
		field := "mirrors[" + strconv.Itoa(i) + "]"
		if err := checkName(field+".cluster", string(m.Cluster)); err != nil {
			return nil, err
		}
		if m.Millionths < 1 || m.Millionths > million {
			return nil, faultf(field+".millionths", strconv.FormatUint(uint64(m.Millionths), 10), "a share is 1 to %d", million)
		}
		uses = append(uses, xdsserve.Name{Type: xdsserve.Cluster, Name: string(m.Cluster)})
		action.RequestMirrorPolicies = append(action.RequestMirrorPolicies, &envoy_route_v3.RouteAction_RequestMirrorPolicy{
			Cluster: string(m.Cluster), RuntimeFraction: drawn(m.Millionths), DisableShadowHostSuffixAppend: true,
		})
	}
	return uses, nil
}
