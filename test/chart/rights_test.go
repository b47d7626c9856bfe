package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	authorization_v1 "k8s.io/api/authorization/v1"
	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/postgres"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// The server of the deployment is met at machine:door. The port of the Service is another
// one, as the router has that one here.
const (
	machine = "10.98.0.7"
	door    = int32(15432)
)

// offer makes two Services that claim the deployment "orders", in a namespace; the older
// one has it, and leads to the server.
func offer(t *testing.T, c *cluster.Cluster, namespace string) {
	t.Helper()
	labels := map[string]string{
		"xdatabase-proxy-enabled": "true", "xdatabase-proxy-database-type": "postgresql",
		"xdatabase-proxy-deployment-id": "orders", "xdatabase-proxy-pooled": "false",
	}
	port := core_v1.ServicePort{Name: "postgres", Port: 5432}
	for _, name := range []string{"a-orders", "b-orders"} {
		service := &core_v1.Service{Name: name, Labels: labels, Spec: core_v1.ServiceSpec{Ports: []core_v1.ServicePort{port}}}
		if _, err := c.Client().CoreV1().Services(namespace).Create(t.Context(), service, meta_v1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	slice := &discovery_v1.EndpointSlice{
		Name: "a-orders-1", Labels: map[string]string{discovery_v1.LabelServiceName: "a-orders"},
		AddressType: discovery_v1.AddressTypeIPv4,
		Endpoints:   []discovery_v1.Endpoint{{Addresses: []string{machine}}},
		Ports:       []discovery_v1.EndpointPort{{Name: &port.Name, Port: new(door)}},
	}
	if _, err := c.Client().DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), slice, meta_v1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// serve leads connections to the machine in the cluster to a server on this one.
func serve(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	server := postgres.Start(t, postgres.Options{})
	l, err := c.Listen(t.Context(), fmt.Sprintf("%s:%d", machine, door))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server.Address)
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
}

// login opens a session through the router.
func (p *pod) login(ctx context.Context) error {
	config, err := pgx.ParseConfig(postgres.DSN("127.0.0.1:5432", "postgres.orders", "sslmode=require"))
	if err != nil {
		return err
	}
	config.DialFunc = p.cluster.Dial
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("%w; it says:\n%s", err, p.log.String())
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.Ping(ctx)
}

// wrote tells whether the router has filled its Secret and told of the conflict.
func (p *pod) wrote(ctx context.Context, namespace string) error {
	core := p.cluster.Client().CoreV1()
	secret, err := core.Secrets(namespace).Get(ctx, "router-tls", meta_v1.GetOptions{})
	if err != nil {
		return err
	}
	events, err := core.Events(namespace).List(ctx, meta_v1.ListOptions{FieldSelector: "involvedObject.name=b-orders"})
	switch {
	case err != nil:
		return err
	case len(secret.Data[core_v1.TLSCertKey]) == 0:
		return errors.New("the Secret is empty")
	case len(events.Items) == 0:
		return errors.New("there is no Event at the Service that has lost")
	}
	return nil
}

func (p *pod) forbidden() bool { return strings.Contains(p.log.String(), "forbidden") }

// binary builds a router that needs nothing else in its root.
func binary(t *testing.T) string {
	t.Helper()
	path, err := rig.Build(t.Context(), t.TempDir(), "-ldflags=-linkmode external -extldflags -static")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRights: what the roles give is enough, in all namespaces or in one, and without any
// one of them the router says that it misses it.
func TestRights(t *testing.T) {
	c := cluster.Shared(t)
	serve(t, c)
	router := binary(t)
	t.Run("in all namespaces", func(t *testing.T) { enough(t, c, router, "") })
	t.Run("in one namespace", func(t *testing.T) { enough(t, c, router, "discovery: { namespaces: [NAMESPACE] }") })
	for _, cut := range cuts(t, objects(t, "db", "")) {
		// API servers of today stream what is there as the begin of a watch; older ones do not.
		if !strings.HasPrefix(cut.name, "list") || cut.name == "list [endpointslices]" {
			t.Run("without "+cut.name, func(t *testing.T) { missed(t, c, router, cut) })
		}
	}
}

func enough(t *testing.T, c *cluster.Cluster, router, values string) {
	t.Helper()
	namespace := restricted(t, c)
	offer(t, c, namespace)
	apply(t, c, namespace, objects(t, namespace, strings.ReplaceAll(values, "NAMESPACE", namespace)))
	p := start(t, c, namespace, "router", router)
	until(t, "it is ready", p.ready)
	until(t, "clients reach the server", p.login)
	until(t, "the certificate and the Event are there", func(ctx context.Context) error { return p.wrote(ctx, namespace) })
	if p.forbidden() {
		t.Errorf("something is forbidden: %s", p.log.String())
	}
	for _, secret := range []authorization_v1.ResourceAttributes{
		{Verb: "get", Name: "router-cancel"}, {Verb: "watch", Name: "other"}, {Verb: "list"}, {Verb: "create"}, {Verb: "delete", Name: "router-tls"},
	} {
		secret.Namespace, secret.Resource = namespace, "secrets"
		ask := &authorization_v1.SubjectAccessReview{Spec: authorization_v1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace + ":router", ResourceAttributes: &secret,
		}}
		answer, err := c.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), ask, meta_v1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Status.Allowed {
			t.Errorf("it may %s Secret %q", secret.Verb, secret.Name)
		}
	}
}

func missed(t *testing.T, c *cluster.Cluster, router string, cut cut) {
	t.Helper()
	namespace := restricted(t, c)
	all := objects(t, namespace, "")
	cut.from(all)
	apply(t, c, namespace, all)
	p := start(t, c, namespace, "router", router)
	until(t, "it is ready, or says what it misses", func(ctx context.Context) error {
		if p.forbidden() {
			return nil
		}
		return p.ready(ctx)
	})
	offer(t, c, namespace)
	until(t, "something is forbidden", func(context.Context) error {
		if !p.forbidden() {
			return fmt.Errorf("it says:\n%s", p.log.String())
		}
		return nil
	})
}

// cut is one verb of one rule of the n-th object.
type cut struct {
	name         string
	object, rule int
	verb         string
}

// cuts are all that roles give.
func cuts(t *testing.T, all []*unstructured.Unstructured) (out []cut) {
	t.Helper()
	for n, o := range all {
		rules, _, err := unstructured.NestedSlice(o.Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		for i, rule := range rules {
			for _, verb := range rule.(map[string]any)["verbs"].([]any) {
				name := fmt.Sprintf("%s %v", verb, rule.(map[string]any)["resources"])
				out = append(out, cut{name, n, i, verb.(string)})
			}
		}
	}
	if len(out) < 5 {
		t.Fatalf("the roles give only %v", out)
	}
	return out
}

// from takes it away.
func (c cut) from(all []*unstructured.Unstructured) {
	rules := all[c.object].Object["rules"].([]any)
	rule := rules[c.rule].(map[string]any)
	verbs := slices.DeleteFunc(rule["verbs"].([]any), func(v any) bool { return v == c.verb })
	rule["verbs"] = verbs
	if len(verbs) == 0 { // a rule must give something
		all[c.object].Object["rules"] = slices.Delete(rules, c.rule, c.rule+1)
	}
}
