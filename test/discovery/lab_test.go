package discovery_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	rbac_v1 "k8s.io/api/rbac/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// eventually is more than what a busy machine needs.
const eventually = time.Minute

// lab is a cluster and a namespace of it that a test has for itself.
type lab struct {
	*cluster.Cluster
	ns         string
	kubeconfig string // of an account that has the rights of a router, and no others
}

// rights are those of a router.
var rights = []rbac_v1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
}

func newLab(t *testing.T, c *cluster.Cluster) lab {
	t.Helper()
	ns := c.Namespace(t)
	return lab{c, ns, c.ServiceAccount(t, ns, "router", rights...)}
}

// machines numbers the addresses of servers.
var machines atomic.Int32

// server is a PostgreSQL and where the cluster finds it, at port 5432.
type server struct {
	*pgtest.Server
	ip string
}

func (l lab) server(t *testing.T) server {
	t.Helper()
	n := machines.Add(1)
	s := server{pgtest.Start(t, pgtest.Options{}), "10.98." + strconv.Itoa(int(n>>8)) + "." + strconv.Itoa(int(n&255))}
	l.forward(t, s.ip, s.Address)
	return s
}

// forward lets an address of the cluster be a server of this machine.
func (l lab) forward(t *testing.T, ip, to string) {
	t.Helper()
	listener, err := l.Listen(t.Context(), net.JoinHostPort(ip, "5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go join(from, to)
		}
	}()
}

func join(from net.Conn, to string) {
	defer from.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(from, server)
		_ = from.Close()
	}()
	_, _ = io.Copy(server, from)
}

// router is a router in the cluster's network.
type router struct {
	*pgtest.Router
	lab lab
}

func (l lab) router(t *testing.T, flags ...string) router {
	t.Helper()
	var r *pgtest.Router
	err := l.Inside(func() error {
		r = pgtest.Route(t, append([]string{"--runtime=vm", "--kubeconfig=" + l.kubeconfig, "--discovery-namespaces=" + l.ns}, flags...)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return router{r, l}
}

// get asks the health server.
func (r router) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	transport := &http.Transport{DialContext: r.lab.Dial, DisableKeepAlives: true}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Health+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// ready waits until the router is.
func (r router) ready(t *testing.T) router {
	t.Helper()
	until(t, "the router is ready", func() bool { status, _ := r.get(t, "/ready"); return status == http.StatusOK })
	return r
}

// connect logs in through the router.
func (r router) connect(t *testing.T, login string) (*pgx.Conn, error) {
	t.Helper()
	config, err := pgx.ParseConfig(pgtest.DSN(r.Address, login, "dbname=postgres sslmode=disable"))
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = r.lab.Dial
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	}
	return conn, err
}

// session is one that must be possible.
func (r router) session(t *testing.T, login string) *pgx.Conn {
	t.Helper()
	conn, err := r.connect(t, login)
	if err != nil {
		t.Fatalf("%s: %v\n%s", login, err, r.Log)
	}
	return conn
}

// at is the port of the server that a session is at; 0 after its end.
func at(t *testing.T, conn *pgx.Conn) (port int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "select inet_server_port()").Scan(&port); err != nil {
		return 0
	}
	return port
}

// goesTo waits until new sessions are at a server.
func (r router) goesTo(t *testing.T, login string, s server) {
	t.Helper()
	until(t, login+" goes to the server at "+s.ip, func() bool {
		conn, err := r.connect(t, login)
		return err == nil && at(t, conn) == s.Port
	})
}

func sqlstate(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// psql runs in the cluster's network and returns what it prints.
func (r router) psql(t *testing.T, login, query string) string {
	t.Helper()
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), "psql", pgtest.DSN(r.Address, login, "sslmode=require"), "-Atc", query)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := r.lab.Inside(cmd.Start); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // what it prints is what counts
	return strings.TrimSpace(out.String())
}

// until waits until check is true.
func until(t *testing.T, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(eventually); !check(); {
		if time.Now().After(late) {
			t.Fatalf("not within %s: %s", eventually, what)
		}
		<-tick.C
	}
}

// service makes a Service of deployment orders; the labels come in pairs, without their
// prefix.
func (l lab) service(t *testing.T, name string, labels ...string) *core_v1.Service {
	t.Helper()
	s := &core_v1.Service{
		Name: name,
		Labels: map[string]string{
			"xdatabase-proxy-enabled": "true", "xdatabase-proxy-database-type": "postgresql", "xdatabase-proxy-deployment-id": "orders",
		},
		Spec: core_v1.ServiceSpec{Ports: []core_v1.ServicePort{{Name: "postgres", Port: 5432}}},
	}
	for i := 0; i < len(labels); i += 2 {
		s.Labels["xdatabase-proxy-"+labels[i]] = labels[i+1]
	}
	s, err := l.Client().CoreV1().Services(l.ns).Create(t.Context(), s, meta_v1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// slice makes or replaces an EndpointSlice of a Service. The endpoints are ready.
func (l lab) slice(t *testing.T, name, service string, ips ...string) {
	t.Helper()
	l.apply(t, sliceOf(name, service, ips...))
}

func sliceOf(name, service string, ips ...string) *discovery_v1.EndpointSlice {
	s := &discovery_v1.EndpointSlice{
		Name: name, Labels: map[string]string{discovery_v1.LabelServiceName: service},
		AddressType: discovery_v1.AddressTypeIPv4,
		Ports:       []discovery_v1.EndpointPort{{Name: new("postgres"), Port: new(int32(5432))}},
		Endpoints:   []discovery_v1.Endpoint{},
	}
	for _, ip := range ips {
		s.Endpoints = append(s.Endpoints, discovery_v1.Endpoint{
			Addresses: []string{ip}, Conditions: discovery_v1.EndpointConditions{Ready: new(true)},
		})
	}
	return s
}

func (l lab) apply(t *testing.T, s *discovery_v1.EndpointSlice) {
	t.Helper()
	api := l.Client().DiscoveryV1().EndpointSlices(l.ns)
	_, err := api.Get(t.Context(), s.Name, meta_v1.GetOptions{})
	if err == nil {
		_, err = api.Update(t.Context(), s, meta_v1.UpdateOptions{})
	} else {
		_, err = api.Create(t.Context(), s, meta_v1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
