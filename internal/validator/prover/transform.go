package prover

import (
	"fmt"
	"slices"
	"strings"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// separator stands between a Gateway and a name of its own.
const separator = "|"

// alias is how the proving Envoy knows a name of a group.
func alias(group, name string) string { return group + separator + name }

// withoutAlias gives Envoy's words the names that they are about.
func withoutAlias(group, text string) string { return strings.ReplaceAll(text, group+separator, "") }

// copied is a resource under its alias with another body.
func copied(r xdsserve.Resource, body []byte, uses ...xdsserve.Name) xdsserve.Resource {
	return xdsserve.Resource{
		Name: xdsserve.Name{Type: r.Type, Name: alias(r.Group, r.Name.Name)}, Group: Group, Body: body, Version: r.Version, Uses: uses,
	}
}

// rewrite decodes a body, changes the message, and encodes it again.
func rewrite[M proto.Message](body []byte, m M, change func(M) error) ([]byte, error) {
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("it cannot be decoded: %w", err)
	}
	if err := change(m); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func proveSecret(r xdsserve.Resource) (xdsserve.Resource, error) {
	body, err := rewrite(r.Body, new(envoy_tls_v3.Secret), func(s *envoy_tls_v3.Secret) error {
		s.Name = alias(r.Group, s.GetName())
		return nil
	})
	return copied(r, body), err
}

// proveCluster makes a cluster a static one without endpoints: it is ready at once, and
// nothing is resolved, dialled or checked. All that it says about connections stays.
func proveCluster(r xdsserve.Resource) (xdsserve.Resource, error) {
	n := names{group: r.Group}
	body, err := rewrite(r.Body, new(envoy_cluster_v3.Cluster), func(c *envoy_cluster_v3.Cluster) error {
		c.Name = alias(r.Group, c.GetName())
		c.ClusterDiscoveryType = &envoy_cluster_v3.Cluster_Type{Type: envoy_cluster_v3.Cluster_STATIC}
		c.EdsClusterConfig = nil
		c.LoadAssignment = &envoy_endpoint_v3.ClusterLoadAssignment{ClusterName: c.GetName()}
		for _, match := range c.GetTransportSocketMatches() {
			if err := n.socket(match.GetTransportSocket()); err != nil {
				return err
			}
		}
		return n.socket(c.GetTransportSocket())
	})
	return copied(r, body, n.uses...), err
}

// proveListener takes the port from a listener, and its routes. Envoy wants UDP listeners
// to be bound; they are, to an address of their own.
func proveListener(r xdsserve.Resource, places *places) (xdsserve.Resource, error) {
	n := names{group: r.Group}
	body, err := rewrite(r.Body, new(envoy_listener_v3.Listener), func(l *envoy_listener_v3.Listener) error {
		l.Name = alias(r.Group, l.GetName())
		if l.GetUdpListenerConfig() == nil {
			l.BindToPort = wrapperspb.Bool(false)
		} else {
			l.Freebind = wrapperspb.Bool(true)
		}
		l.Address = places.move(r.Group, l.GetAddress())
		for _, more := range l.GetAdditionalAddresses() {
			more.Address = places.move(r.Group, more.GetAddress())
		}
		for _, chain := range append(l.GetFilterChains(), l.GetDefaultFilterChain()) {
			if err := n.chain(chain); err != nil {
				return err
			}
		}
		return nil
	})
	return copied(r, body, n.uses...), err
}

// names gives what a resource refers to its alias.
type names struct {
	group string
	uses  []xdsserve.Name
}

func (n *names) chain(c *envoy_listener_v3.FilterChain) error {
	for _, f := range c.GetFilters() {
		if err := change(f.GetTypedConfig(), new(envoy_hcm_v3.HttpConnectionManager), n.lookNowhere); err != nil {
			return err
		}
	}
	return n.socket(c.GetTransportSocket())
}

// lookNowhere has a connection manager that names a route table name the empty one. It
// is asked for then, and not otherwise; one that looks up scopes asks for these.
func (n *names) lookNowhere(m *envoy_hcm_v3.HttpConnectionManager) bool {
	if m.GetRds() == nil {
		return false
	}
	m.GetRds().RouteConfigName = blankTable.Name
	if !slices.Contains(n.uses, blankTable) {
		n.uses = append(n.uses, blankTable)
	}
	return true
}

func (n *names) socket(s *envoy_core_v3.TransportSocket) error {
	err := change(s.GetTypedConfig(), new(envoy_tls_v3.UpstreamTlsContext), func(c *envoy_tls_v3.UpstreamTlsContext) bool {
		return n.secrets(c.GetCommonTlsContext())
	})
	if err != nil {
		return err
	}
	return change(s.GetTypedConfig(), new(envoy_tls_v3.DownstreamTlsContext), func(c *envoy_tls_v3.DownstreamTlsContext) bool {
		return n.secrets(c.GetCommonTlsContext())
	})
}

func (n *names) secrets(c *envoy_tls_v3.CommonTlsContext) bool {
	all := append([]*envoy_tls_v3.SdsSecretConfig{c.GetValidationContextSdsSecretConfig()}, c.GetTlsCertificateSdsSecretConfigs()...)
	renamed := false
	for _, secret := range all {
		if secret.GetSdsConfig() == nil {
			continue
		}
		secret.Name = alias(n.group, secret.GetName())
		n.uses = append(n.uses, xdsserve.Name{Type: xdsserve.Secret, Name: secret.GetName()})
		renamed = true
	}
	return renamed
}

// change rewrites a packed message if it is of a kind and change says that it did.
func change[M proto.Message](packed *anypb.Any, m M, change func(M) bool) error {
	if !packed.MessageIs(m) {
		return nil
	}
	if err := packed.UnmarshalTo(m); err != nil {
		return fmt.Errorf("it cannot be decoded: %w", err)
	}
	if !change(m) {
		return nil
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	packed.Value = body
	return err
}
