package index_test

import (
	"slices"
	"strings"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

func slicesOf(s ...*discovery_v1.EndpointSlice) []*discovery_v1.EndpointSlice { return s }

func indexBeforeSync() *index.Index { return index.New(options) }

func backends(x *index.Index) []discovery.Backend { return slices.Collect(x.All()) }

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		labels  []string
		name    string // of the backend; empty for none
		problem string
	}{
		{nil, "orders", ""},
		{[]string{"pooled", "false"}, "orders", ""},
		{[]string{"pooled", "true"}, "orders.pool", ""},
		{[]string{"pooled", "yes"}, "", `InvalidPooled: has label xdatabase-proxy-pooled="yes"; it must be true or false`},
		{[]string{"deployment-id", ""}, "", "InvalidDeployment: has no label xdatabase-proxy-deployment-id; name the deployment"},
		{[]string{"deployment-id", "a.b"}, "a.b", `UnnamableDeployment: has deployment "a.b", which no login can name`},
		{[]string{"deployment-id", "pool"}, "pool", `UnnamableDeployment: has deployment "pool", which no login can name`},
		{[]string{"deployment-id", "pool", "pooled", "true"}, "pool.pool", ""},
		{[]string{"tls-passthrough", "1"}, "orders", `InvalidPassthrough: has label xdatabase-proxy-tls-passthrough="1"; it must be true or false`},
	} {
		x := indexOf(options, service("db", 1, c.labels...))
		var name, problem string
		for _, b := range backends(x) {
			name = b.Name()
		}
		for _, p := range x.Problems() {
			problem += string(p.Reason) + ": " + p.Message
		}
		if name != c.name || !strings.HasPrefix(problem, c.problem) || (problem == "") != (c.problem == "") {
			t.Errorf("%v: got %q and %q, want %q and %q", c.labels, name, problem, c.name, c.problem)
		}
	}
}

func TestPassthrough(t *testing.T) {
	x := indexOf(options, service("db", 1, "tls-passthrough", "true"), slice("1", "db", "10.0.0.1"))
	target, err := x.Resolve("orders", false)
	if err != nil || !target.Backend.Passthrough {
		t.Errorf("got %+v, %v; want that TLS passes through", target, err)
	}
	expect(t, gone(x.SetService(service("db", 1))))
}

func TestPorts(t *testing.T) {
	tcp := func(name string, port int32) core_v1.ServicePort { return core_v1.ServicePort{Name: name, Port: port} }
	udp := core_v1.ServicePort{Name: "postgres", Port: 1, Protocol: core_v1.ProtocolUDP}
	for _, c := range []struct {
		name    string
		ports   []core_v1.ServicePort
		label   string
		change  func(*core_v1.Service)
		want    string // host:port, by name
		problem string
	}{
		{"the first", []core_v1.ServicePort{udp, tcp("x", 7), tcp("y", 8)}, "", nil, "7", ""},
		{"named postgres", []core_v1.ServicePort{tcp("x", 7), tcp("postgres", 8)}, "", nil, "8", ""},
		{"named postgresql", []core_v1.ServicePort{tcp("x", 7), tcp("postgresql", 9)}, "", nil, "9", ""},
		{"by label", []core_v1.ServicePort{tcp("postgres", 8), tcp("x", 7)}, "7", nil, "7", ""},
		{"none", []core_v1.ServicePort{udp}, "", nil, "", "NoPort: has no TCP port; add one, or name it"},
		{"no number", []core_v1.ServicePort{tcp("x", 7)}, "x", nil, "", `InvalidPort: has label xdatabase-proxy-destination-port="x"; it must be a number from 1 to 65535`},
		{"too large", []core_v1.ServicePort{tcp("x", 7)}, "65536", nil, "", "InvalidPort"},
		{"zero", []core_v1.ServicePort{tcp("x", 7)}, "0", nil, "", "InvalidPort"},
		{"not among them", []core_v1.ServicePort{tcp("x", 7), tcp("y", 8)}, "9", nil, "", `InvalidPort: has label xdatabase-proxy-destination-port="9", which is none of its TCP ports: 7 x, 8 y`},
		{"headless has any", nil, "9", func(s *core_v1.Service) { s.Spec.ClusterIP = "None" }, "9", ""},
	} {
		s := service("db", 1)
		s.Spec.Ports = c.ports
		if c.label != "" {
			s.Labels["xdatabase-proxy-destination-port"] = c.label
		}
		if c.change != nil {
			c.change(s)
		}
		x := indexOf(options, s)
		var want []string
		if c.want != "" {
			want = []string{"db.shop.svc.cluster.local:" + c.want}
		}
		expect(t, addresses(t, x, "orders", false), want...)
		var problem string
		for _, p := range x.Problems() {
			problem += string(p.Reason) + ": " + p.Message
		}
		if !strings.HasPrefix(problem, c.problem) || (problem == "") != (c.problem == "") {
			t.Errorf("%s: got %q, want %q", c.name, problem, c.problem)
		}
	}
}

// The port of a Service is mapped to that of a slice by its name.
func TestPortsOfSlices(t *testing.T) {
	named := func(name string, port *int32) discovery_v1.EndpointPort {
		return discovery_v1.EndpointPort{Name: new(name), Port: port}
	}
	for _, c := range []struct {
		name  string
		ports []discovery_v1.EndpointPort
		port  core_v1.ServicePort
		label string
		want  []string
	}{
		{"by name", []discovery_v1.EndpointPort{named("metrics", new(int32(9187))), named("postgres", new(int32(6432)))}, core_v1.ServicePort{Name: "postgres", Port: 5432}, "", []string{"10.0.0.1:6432"}},
		{"without a name", []discovery_v1.EndpointPort{{Port: new(int32(6432))}}, core_v1.ServicePort{Port: 5432}, "5432", []string{"10.0.0.1:6432"}},
		{"left open", []discovery_v1.EndpointPort{named("postgres", nil)}, core_v1.ServicePort{Name: "postgres", Port: 5432, TargetPort: intstr.FromInt32(5000)}, "", []string{"10.0.0.1:5000"}},
		{"left open, no target", []discovery_v1.EndpointPort{named("postgres", nil)}, core_v1.ServicePort{Name: "postgres", Port: 5432}, "", []string{"10.0.0.1:5432"}},
		{"left open, target by name", []discovery_v1.EndpointPort{named("postgres", nil)}, core_v1.ServicePort{Name: "postgres", Port: 5432, TargetPort: intstr.FromString("db")}, "", nil},
		{"other name", []discovery_v1.EndpointPort{named("metrics", new(int32(9187)))}, core_v1.ServicePort{Name: "postgres", Port: 5432}, "", nil},
		{"other protocol", []discovery_v1.EndpointPort{{Name: new("postgres"), Port: new(int32(6432)), Protocol: new(core_v1.ProtocolUDP)}}, core_v1.ServicePort{Name: "postgres", Port: 5432}, "", nil},
	} {
		s, endpoints := service("db", 1), slice("1", "db", "10.0.0.1")
		s.Spec.Ports, endpoints.Ports = []core_v1.ServicePort{c.port}, c.ports
		if c.label != "" {
			s.Labels["xdatabase-proxy-destination-port"] = c.label
		}
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(options, s, endpoints)
			expect(t, addresses(t, x, "orders", false), c.want...)
			if told := len(x.Problems()) > 0; told != (c.want == nil) {
				t.Errorf("problems %v", x.Problems())
			}
		})
	}
}

// A change of the port moves new sessions, and ends those at the former one.
func TestPortChanges(t *testing.T) {
	two := slice("1", "db", "10.0.0.1")
	two.Ports = append(two.Ports, discovery_v1.EndpointPort{Name: new("other"), Port: new(int32(7000))})
	s := service("db", 1)
	s.Spec.Ports = append(s.Spec.Ports, core_v1.ServicePort{Name: "other", Port: 5500})
	x := indexOf(options, s, two)
	expect(t, addresses(t, x, "orders", false), "10.0.0.1:5433")
	changed := s.DeepCopy()
	changed.Labels["xdatabase-proxy-destination-port"] = "5500"
	expect(t, gone(x.SetService(changed)), "10.0.0.1:5433", byName)
	expect(t, addresses(t, x, "orders", false), "10.0.0.1:7000")
}

func TestFamilies(t *testing.T) {
	six := slice("6", "db", "fd00::1")
	six.AddressType = discovery_v1.AddressTypeIPv6
	x := indexOf(options, service("db", 1), slice("4", "db", "10.0.0.1"), six)
	expect(t, addresses(t, x, "orders", false), "10.0.0.1:5433")
	first := service("db", 1)
	first.Spec.IPFamilies = []core_v1.IPFamily{core_v1.IPv6Protocol, core_v1.IPv4Protocol}
	x = indexOf(options, first, slice("4", "db", "10.0.0.1"), six)
	expect(t, addresses(t, x, "orders", false), "[fd00::1]:5433")
}

func TestLocalEndpoints(t *testing.T) {
	for address, why := range map[string]string{
		"127.0.0.1":        "is a loopback address",
		"::ffff:127.0.0.1": "is a loopback address",
		"169.254.169.254":  "is a link-local address",
		"100.100.100.200":  "is where a cloud serves metadata",
		"168.63.129.16":    "is where a cloud serves metadata",
	} {
		refused := indexOf(options, service("db", 1), slice("1", "db", address, "10.0.0.1"))
		expect(t, addresses(t, refused, "orders", false), "10.0.0.1:5433")
		if p := refused.Problems(); len(p) != 1 || p[0].Reason != index.RefusedEndpoint || !strings.Contains(p[0].Message, "which "+why) {
			t.Errorf("%s: problems %v, want that it %s", address, p, why)
		}
		allowed := indexOf(index.Options{AllowLocal: true}, service("db", 1), slice("1", "db", address))
		if len(addresses(t, allowed, "orders", false)) != 1 || len(allowed.Problems()) > 0 {
			t.Errorf("%s is refused although it is allowed: %v", address, allowed.Problems())
		}
	}
	for _, address := range []string{"0.0.0.0", "224.0.0.1", "db.example"} {
		x := indexOf(index.Options{AllowLocal: true}, service("db", 1), slice("1", "db", address))
		if len(addresses(t, x, "orders", false)) > 0 || len(x.Problems()) != 1 {
			t.Errorf("%s is dialled", address)
		}
	}
}

func TestExternalName(t *testing.T) {
	s := service("db", 1)
	s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP = core_v1.ServiceTypeExternalName, "db.example.", ""
	x := indexOf(options, s)
	expect(t, addresses(t, x, "orders", false))
	if p := x.Problems(); len(p) != 1 || p[0].Reason != index.ExternalName {
		t.Errorf("problems %v", p)
	}
	expect(t, addresses(t, indexOf(index.Options{AllowLocal: true}, s), "orders", false), "db.example:5432")
}
