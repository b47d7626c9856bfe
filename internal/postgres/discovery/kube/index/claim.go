package index

import (
	"fmt"
	"slices"
	"strings"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// Labels of Services, as deployments of the xdatabase-proxy know them.
const (
	labelEnabled     = "xdatabase-proxy-enabled"
	labelType        = "xdatabase-proxy-database-type"
	labelDeployment  = "xdatabase-proxy-deployment-id"
	labelPooled      = "xdatabase-proxy-pooled"
	labelPort        = "xdatabase-proxy-destination-port"
	labelPassthrough = "xdatabase-proxy-tls-passthrough"
)

// Selector chooses Services; the API server applies it.
const Selector = labelEnabled + "=true," + labelType + "=postgresql"

// claim is what a Service asks for.
type claim struct {
	facts
	problems []Problem
}

type facts struct {
	form
	rank rank
	uid  types.UID
	// valid tells that the form can be read. refused keeps sessions from a valid claim,
	// which nobody else gets for that.
	valid, refused bool
	dial           dial
}

// dial is how sessions of a Service reach its endpoints.
type dial struct {
	backend discovery.Backend
	byName  string // host:port, where no slice lists endpoints
	port    port
	family  discovery_v1.AddressType // of endpoints that count; empty for any
}

// rank says who of several Services serves a form: the first.
type rank struct {
	created int64 // seconds, as the API has them
	types.NamespacedName
}

func (r rank) compare(o rank) int {
	if r.created != o.created {
		return sign(r.created < o.created)
	}
	if r.Namespace != o.Namespace {
		return sign(r.Namespace < o.Namespace)
	}
	return strings.Compare(r.Name, o.Name)
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

func (c claim) equal(o claim) bool { return c.facts == o.facts && slices.Equal(c.problems, o.problems) }

// readClaim reads the labels and ports of a Service.
func readClaim(s *core_v1.Service, o Options) claim {
	c := claim{}
	c.rank, c.uid = rank{s.CreationTimestamp.Unix(), nameOf(s)}, s.UID
	c.deployment = s.Labels[labelDeployment]
	c.valid = c.deployment != ""
	if c.deployment == "" {
		c.problem(InvalidDeployment, "has no label %s; name the deployment that it serves", labelDeployment)
	}
	c.pooled = c.label(s, labelPooled, InvalidPooled, &c.valid)
	if strings.Contains(c.deployment, ".") || c.deployment == "pool" && !c.pooled {
		c.problem(UnnamableDeployment, "has deployment %q, which no login can name; clients can by options or host name only", c.deployment)
	}
	passthrough := c.label(s, labelPassthrough, InvalidPassthrough, new(bool))
	c.reach(s, o)
	c.dial.backend = discovery.Backend{
		Deployment: c.deployment, Pooled: c.pooled, Passthrough: passthrough,
		Host: host(s, o), Port: c.dial.port.number, Service: nameOf(s).String(),
	}
	c.dial.byName = c.dial.backend.Address()
	return c
}

// reach finds out how endpoints are dialled, and whether they may be.
func (c *claim) reach(s *core_v1.Service, o Options) {
	port, problem := choosePort(s)
	c.dial.port = port
	if problem != (Problem{}) {
		c.problem(problem.Reason, "%s", problem.Message)
		c.refused = true
	}
	if s.Spec.Type == core_v1.ServiceTypeExternalName && !o.AllowLocal {
		c.problem(ExternalName, "is of type ExternalName, which leads sessions out of the cluster; ALLOW_LOCAL_ENDPOINTS allows it")
		c.refused = true
	}
	if len(s.Spec.IPFamilies) > 0 {
		c.dial.family = discovery_v1.AddressType(s.Spec.IPFamilies[0])
	}
}

// host is the name that a Service is dialled by.
func host(s *core_v1.Service, o Options) string {
	if s.Spec.Type == core_v1.ServiceTypeExternalName {
		return strings.TrimSuffix(s.Spec.ExternalName, ".")
	}
	return s.Name + "." + s.Namespace + ".svc." + o.ClusterDomain
}

// label reads one that is true or false; a missing one is false.
func (c *claim) label(s *core_v1.Service, name string, reason Reason, valid *bool) bool {
	switch value, ok := s.Labels[name]; {
	case !ok || value == "false":
		return false
	case value == "true":
		return true
	default:
		*valid = false
		c.problem(reason, "has label %s=%q; it must be true or false", name, value)
		return false
	}
}

func (c *claim) problem(reason Reason, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Service: c.rank.NamespacedName, UID: c.uid, Reason: reason, Message: fmt.Sprintf(format, args...),
	})
}
