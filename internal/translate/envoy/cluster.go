package envoy

import (
	"math"
	"time"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_type_v3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// connectTimeout is how long a connection to a backend may take.
const connectTimeout = 5 * time.Second

// translateCluster makes one backend as one Gateway's proxies use it. Its
// circuit breakers are open wide: Envoy's own 1,024 would refuse requests that
// the backend could serve, and nobody asked for a limit. Clients of UDP, whose
// addresses can be made up, have one.
func translateCluster(c model.Cluster, o Options) Output {
	name := string(c.ID)
	cluster, uses, err := cluster(c, o)
	if err != nil {
		return failed(xdsserve.Cluster, name, c.Origins, err)
	}
	out := output(xdsserve.Cluster, string(c.Gateway), name, cluster, uses, c.Origins)
	if out.Resource != nil {
		out.Resource.SlowToWarm = c.Host != ""
	}
	return out
}

func cluster(c model.Cluster, o Options) (*envoy_cluster_v3.Cluster, []xdsserve.Name, error) {
	if err := checkName("id", string(c.ID)); err != nil {
		return nil, nil, err
	}
	out := &envoy_cluster_v3.Cluster{
		Name:                          string(c.ID),
		ConnectTimeout:                durationpb.New(connectTimeout),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
		LbPolicy:                      envoy_cluster_v3.Cluster_LEAST_REQUEST,
		CircuitBreakers:               breakers(c),
	}
	if err := checkTimeout("retries.interval", c.Retries.Interval); err != nil {
		return nil, nil, err
	}
	uses, err := discover(out, c)
	if err != nil {
		return nil, nil, err
	}
	if c.TLS != nil {
		if out.TransportSocket, err = originateTLS(c, o.caFile()); err != nil {
			return nil, nil, err
		}
		if c.ClientCertificate != "" {
			uses = append(uses, xdsserve.Name{Type: xdsserve.Secret, Name: string(c.ClientCertificate)})
		}
	}
	return out, uses, speak(out, c)
}

// discover says where the endpoints come from: a name to resolve, or a resource
// of the cluster's own name that changes on its own.
func discover(out *envoy_cluster_v3.Cluster, c model.Cluster) ([]xdsserve.Name, error) {
	if c.Host != "" {
		return nil, resolve(out, c)
	}
	out.ClusterDiscoveryType = &envoy_cluster_v3.Cluster_Type{Type: envoy_cluster_v3.Cluster_EDS}
	out.EdsClusterConfig = &envoy_cluster_v3.Cluster_EdsClusterConfig{EdsConfig: fromADS(), ServiceName: string(c.ID)}
	return []xdsserve.Name{{Type: xdsserve.Endpoints, Name: string(c.ID)}}, nil
}

// breakers are open wide but for the clients of UDP, and for retries that a budget bounds.
func breakers(c model.Cluster) *envoy_cluster_v3.CircuitBreakers {
	out := &envoy_cluster_v3.CircuitBreakers_Thresholds{
		MaxConnections:     wrapperspb.UInt32(math.MaxUint32),
		MaxPendingRequests: wrapperspb.UInt32(math.MaxUint32),
		MaxRequests:        wrapperspb.UInt32(math.MaxUint32),
		MaxRetries:         wrapperspb.UInt32(math.MaxUint32),
	}
	if c.Protocol == model.UpstreamUDP {
		out.MaxConnections = wrapperspb.UInt32(udpSessions)
	}
	if r := c.Retries; r != (model.RetryBudget{}) {
		out.MaxRetries, out.RetryBudget = nil, &envoy_cluster_v3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent:       &envoy_type_v3.Percent{Value: float64(r.Percent)},
			BudgetInterval:      durationpb.New(r.Interval),
			MinRetryConcurrency: wrapperspb.UInt32(r.Least),
		}
	}
	return &envoy_cluster_v3.CircuitBreakers{Thresholds: []*envoy_cluster_v3.CircuitBreakers_Thresholds{out}}
}
