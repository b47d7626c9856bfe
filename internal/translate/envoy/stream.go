package envoy

import (
	"math"
	"strconv"

	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_tcp_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// stream makes the only chain of a TCP port.
func (b *listenerBuilder) stream(l model.Listener) error {
	filter, err := b.tcpProxy(l.Stream)
	if err != nil {
		return within("stream", err)
	}
	b.listener.FilterChains = []*envoy_listener_v3.FilterChain{{Filters: []*envoy_listener_v3.Filter{filter}}}
	return nil
}

// tcpProxy passes connections on. Those without a backend, and the share of a
// missing one, are closed at once.
func (b *listenerBuilder) tcpProxy(to *model.Forward) (*envoy_listener_v3.Filter, error) {
	logs, err := accessLogs(b.settings, streamLogFields)
	if err != nil {
		return nil, err
	}
	proxy := &envoy_tcp_v3.TcpProxy{StatPrefix: b.listener.GetName(), AccessLog: logs}
	if err := b.connect(proxy, to); err != nil {
		return nil, err
	}
	return networkFilter("envoy.filters.network.tcp_proxy", proxy)
}

// connect spreads connections over backends by weight.
func (b *listenerBuilder) connect(proxy *envoy_tcp_v3.TcpProxy, to *model.Forward) error {
	shares, err := b.streamShares(to)
	if err != nil {
		return err
	}
	switch len(shares) {
	case 0:
		proxy.ClusterSpecifier = &envoy_tcp_v3.TcpProxy_Cluster{Cluster: noBackend}
	case 1:
		proxy.ClusterSpecifier = &envoy_tcp_v3.TcpProxy_Cluster{Cluster: shares[0].cluster}
	default:
		all := &envoy_tcp_v3.TcpProxy_WeightedCluster{}
		for _, s := range shares {
			all.Clusters = append(all.Clusters, &envoy_tcp_v3.TcpProxy_WeightedCluster_ClusterWeight{Name: s.cluster, Weight: s.weight})
		}
		proxy.ClusterSpecifier = &envoy_tcp_v3.TcpProxy_WeightedClusters{WeightedClusters: all}
	}
	return nil
}

// streamShare is a cluster and its part of the connections or datagrams.
type streamShare struct {
	cluster string
	weight  uint32
}

// streamShares are those of a weight above 0. A missing backend has a cluster that
// does not exist.
func (b *listenerBuilder) streamShares(to *model.Forward) ([]streamShare, error) {
	if to == nil {
		return nil, nil
	}
	var shares []streamShare
	var sum uint64
	for i, share := range to.Backends {
		if share.Weight == 0 {
			continue
		}
		if sum += uint64(share.Weight); sum > math.MaxUint32 {
			return nil, tooHeavy("backends", sum)
		}
		name := noBackend
		if share.Cluster != "" {
			name = string(share.Cluster)
			if err := checkName("backends["+strconv.Itoa(i)+"].cluster", name); err != nil {
				return nil, err
			}
			b.uses = append(b.uses, xdsserve.Name{Type: xdsserve.Cluster, Name: name})
		}
		shares = append(shares, streamShare{name, share.Weight})
	}
	return shares, nil
}

func tooHeavy(field string, sum uint64) error {
	return faultf(field, strconv.FormatUint(sum, 10), "the sum of the weights is above %d: use smaller ones", uint32(math.MaxUint32))
}
