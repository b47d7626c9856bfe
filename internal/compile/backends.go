package compile

import (
	"strconv"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// backendFeatures are the features of Gateway API that this file compiles.
var backendFeatures = featureNames{
	features.SupportHTTPRouteBackendProtocolH2C,
	features.SupportHTTPRouteBackendProtocolWebSocket,
}

// backend is what a backendRef resolves to.
type backend struct {
	// Cluster is how one kind of route uses it; its zero value where there is a problem.
	Cluster upstream
	// Session is the backend's own, by the object SessionBy.
	Session   *session
	SessionBy string
	Problem   *problem
	// Uses are what the answer rests on: objects by "Kind ns/name", and permissions.
	Uses []string
}

// upstream is a cluster before it is known which Gateways use it.
type upstream struct {
	ID       model.ClusterID
	Protocol model.UpstreamProtocol
	Host     string              // of an XBackend
	Selector string              // of an XBackend's endpoints
	Presents model.CertificateID // of an XBackend; empty leaves it to the Gateway
	Port     uint16
	TLS      *model.UpstreamTLS
	Retries  model.RetryBudget
	Origin   model.Ref
	Service  string // "Kind namespace/name|port" of a Service or ServiceImport
}

// resolve finds what a backendRef of a route means.
func (b *build) resolve(c *derive.Ctx, field string, from referrer, ref gateway_v1.BackendObjectReference) backend {
	to := backendTarget(ref, from.Namespace)
	service, xbackend := to.is("", kindService) || to.is(mcsGroup, kindServiceImport), to.is(gatewayXGroup, kindXBackend)
	switch {
	case xbackend && !b.XBackend:
		return backend{Problem: problemf(verdict.InvalidKind, field+".kind", "XBackend %s: the switch %s is off", to.name(), snapshot.FeatureXBackend).about(to.key())}
	case !service && !xbackend:
		return backend{Problem: problemf(verdict.InvalidKind, field+".kind", "%s of group %q cannot be forwarded to: use a Service, a ServiceImport or an XBackend", to.Kind, to.Group)}
	}
	if xbackend && to.Namespace != from.Namespace {
		return backend{Problem: problemf(verdict.RefNotPermitted, field+".namespace", "XBackend %s is in another namespace than the route, which no ReferenceGrant permits: put an XBackend in namespace %s", to.name(), from.Namespace).about(to.key())}
	}
	by, granted := b.permits(c, from.Kind, from.Namespace, to)
	if !granted {
		return backend{Problem: notPermitted(field, from.Kind, from.Namespace, to)}
	}
	var found backend
	if service {
		found = b.resolveService(c, field, from, to, ref.Port)
	} else {
		found = b.resolveExternal(c, field, from, to)
	}
	b.regulate(c, from, to, &found)
	if by != "" && found.Problem == nil {
		found.Uses = append(found.Uses, by)
	}
	return found
}

func (b *build) resolveService(c *derive.Ctx, field string, from referrer, to target, wanted *gateway_v1.PortNumber) backend {
	if wanted == nil {
		return backend{Problem: problemf(verdict.BackendNotFound, field+".port", "%s: a port is required", to).about(to.key())}
	}
	number := strconv.Itoa(int(*wanted))
	key := derive.JoinKey(to.String(), string(portOf(int(*wanted), from.datagrams())))
	port, exists := derive.Get(c, b.ports, key)
	if !exists {
		return backend{Problem: b.noPort(c, field, from, to, number)}
	}
	var tls *model.UpstreamTLS
	uses := []string{to.String()}
	if !from.Through && !from.datagrams() {
		policy, name, rests := b.secure(c, to, port.Name)
		if uses = append(uses, rests...); policy != nil && policy.failure() != nil {
			why := policy.failure()
			return backend{Uses: rests, Problem: problemf(why.Reason, field, "%s is to be reached by TLS after BackendTLSPolicy %s, which cannot be followed: %s", to, name, why.Message).about(policyRef(name))}
		}
		if policy != nil {
			tls = policy.TLS
		}
	}
	protocol, why := speaks(field, from.speaks(), port.AppProtocol, tls != nil, to)
	if why != nil {
		return backend{Problem: why}
	}
	return backend{
		Cluster: upstream{
			ID: clusterID(from, to.service()+":"+number), Protocol: protocol, TLS: tls,
			Origin: to.key(), Service: key,
		},
		Uses: uses,
	}
}

// service is how clusters name a Service or ServiceImport.
func (t target) service() string {
	if t.Kind == kindServiceImport {
		return "serviceimport/" + t.name()
	}
	return t.name()
}

// noPort says what is missing of a Service or ServiceImport.
func (b *build) noPort(c *derive.Ctx, field string, from referrer, to target, number string) *problem {
	var isExternal, exists bool
	if to.Kind == kindServiceImport {
		exists = derive.Has(c, b.in.imports, to.name())
	} else {
		isExternal, exists = derive.Get(c, b.externalNames, to.name())
	}
	switch {
	case !exists:
		return problemf(verdict.BackendNotFound, field, "%s does not exist", to).about(to.key())
	case isExternal:
		return problemf(verdict.InvalidKind, field, "Service %s is of type ExternalName, which is not forwarded to: use an XBackend", to.name()).about(to.key())
	default:
		return problemf(verdict.BackendNotFound, field+".port", "%s has no %s port %s", to, from.transport(), number).about(to.key())
	}
}

func (b *build) resolveExternal(c *derive.Ctx, field string, from referrer, to target) backend {
	at, exists := derive.Get(c, b.externals, to.name())
	switch {
	case !exists:
		return backend{Problem: problemf(verdict.BackendNotFound, field, "XBackend %s does not exist", to.name()).about(to.key())}
	case at.Problem != nil:
		return backend{Problem: problemf(at.Problem.Reason, field, "XBackend %s: %s", to.name(), at.Problem.sentence()).about(to.key()), Uses: []string{to.String()}}
	}
	protocol, why := speaksExternal(field, from.speaks(), at.Protocol, to)
	if why != nil {
		return backend{Problem: why}
	}
	if from.Through { // TLS of clients is not put into another TLS
		at.TLS, at.Presents = nil, ""
	}
	return backend{
		Session: at.Session, SessionBy: to.String(),
		Cluster: upstream{
			ID: clusterID(from, "xbackend/"+to.name()), Protocol: protocol,
			Host: at.Host, Selector: at.Selector, Port: at.Port, TLS: at.TLS, Presents: at.Presents, Origin: to.key(),
		},
		Uses: append([]string{to.String()}, at.Uses...),
	}
}

// clusterID names a backend as a kind of route uses it.
func clusterID(from referrer, backend string) model.ClusterID {
	if from.GRPC {
		return model.ClusterID("grpc/" + backend)
	}
	switch from.Kind {
	case kindTLSRoute:
		if from.Through {
			return model.ClusterID("tls/" + backend)
		}
		return model.ClusterID("tcp/" + backend)
	case kindTCPRoute:
		return model.ClusterID("tcp/" + backend)
	case kindUDPRoute:
		return model.ClusterID("udp/" + backend)
	case kindGRPCRoute:
		return model.ClusterID("grpc/" + backend)
	case kindXTelemetryPolicy:
		return model.ClusterID("otlp/" + backend)
	default:
		return model.ClusterID(backend)
	}
}

// speaks is the protocol that a kind of route speaks to a Service's port. What
// the port's appProtocol names and is not known here is taken for the route's own;
// what names TLS needs a policy that says how to verify it.
func speaks(field, routeKind, appProtocol string, secured bool, to target) (model.UpstreamProtocol, *problem) {
	switch {
	case routeKind == kindTCPRoute, routeKind == kindTLSRoute:
		return model.UpstreamTCP, nil
	case routeKind == kindUDPRoute:
		return model.UpstreamUDP, nil
	case appProtocol == "kubernetes.io/h2c":
		return model.UpstreamHTTP2, nil
	case routeKind == kindHTTPRoute && (appProtocol == "kubernetes.io/ws" || secured && appProtocol == "kubernetes.io/wss"):
		return model.UpstreamHTTP1, nil
	case secured && strings.EqualFold(appProtocol, "https"):
		return plainProtocol(routeKind), nil
	case strings.HasPrefix(appProtocol, "kubernetes.io/"), strings.EqualFold(appProtocol, "https"):
		return "", problemf(verdict.UnsupportedProtocol, field, "%s has appProtocol %q, which is not spoken here, or not without a BackendTLSPolicy", to, appProtocol).about(to.key())
	default:
		return plainProtocol(routeKind), nil
	}
}

// plainProtocol is what a kind of route speaks where nothing else is said.
func plainProtocol(routeKind string) model.UpstreamProtocol {
	if routeKind == kindGRPCRoute {
		return model.UpstreamHTTP2
	}
	return model.UpstreamHTTP1
}

// speaksExternal is the protocol that a kind of route speaks to an XBackend.
func speaksExternal(field, routeKind, protocol string, to target) (model.UpstreamProtocol, *problem) {
	if routeKind == kindUDPRoute {
		return "", problemf(verdict.UnsupportedProtocol, field, "XBackend %s has no protocol for datagrams: use a Service", to.name()).about(to.key())
	}
	if (routeKind == kindTCPRoute || routeKind == kindTLSRoute) && (protocol == "" || protocol == "TCP") {
		return model.UpstreamTCP, nil
	}
	if routeKind == kindHTTPRoute {
		switch protocol {
		case "", "HTTP", "HTTP11", "WSS":
			return model.UpstreamHTTP1, nil
		case "HTTP2", "H2C", "GRPC":
			return model.UpstreamHTTP2, nil
		}
	}
	if routeKind == kindGRPCRoute {
		switch protocol {
		case "", "HTTP", "HTTP2", "H2C", "GRPC":
			return model.UpstreamHTTP2, nil
		}
	}
	return "", problemf(verdict.UnsupportedProtocol, field, "XBackend %s has protocol %q, which a %s does not speak", to.name(), protocol, routeKind).about(to.key())
}
