package bench

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// churn edits everything that edits can touch, one after the other: routes move
// to another backend, rules change their order, certificates are rotated,
// endpoints are replaced.
type churn struct {
	*shop
	intents   *intents
	authority *tlsutil.CA
	roots     *x509.CertPool
	tlsPort   uint16
	leaf      tlsutil.Pair
	caller    *backend.GRPC
	flipped   bool // order of the ordered route's rules
}

const (
	secureHost  = "secure.example.com"
	orderedHost = "ordered.example.com"
	movedHost   = "moved.example.com"
	wildHost    = "any.wild.example.com"

	weightedHost = "weighted.example.com"
)

// newChurn adds to a shop of n routes an HTTPS listener, a route with two rules,
// and a service whose endpoint moves.
func newChurn(ctx context.Context, dir string, n int) (*churn, error) {
	s, err := newShop(ctx, dir, n)
	if err != nil {
		return nil, err
	}
	c := &churn{shop: s, intents: newIntents(), roots: x509.NewCertPool()}
	if c.authority, err = tlsutil.NewCA("bench", tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour)); err != nil {
		return nil, err
	}
	c.roots.AppendCertsFromPEM(c.authority.Cert)
	if c.tlsPort, err = rig.FreePort(ctx); err != nil {
		return nil, err
	}
	if c.caller, err = backend.StartGRPC(ctx, "caller", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	for i := range n {
		c.intents.set(hostOf(i), intent{"red", "0"})
	}
	c.intents.set(orderedHost+"/a", intent{"red", "a"})
	c.intents.set(orderedHost+"/b", intent{"blue", "b"})
	c.intents.set(movedHost, intent{"red", "moved"})
	c.intents.set(secureHost, intent{"blue", "secure"})
	c.intents.set(wildHost, intent{"red", "wild"})
	c.intents.set(weightedHost, intent{"red", "weighted"})
	return c, errors.Join(
		c.write("gateway.yaml", fmt.Sprintf(gatewayYAML, c.port)+fmt.Sprintf(httpsYAML, c.tlsPort)),
		c.write("fixed.yaml", fmt.Sprintf(routeYAML, 900001, secureHost, "secure", "blue")+"---\n"+fmt.Sprintf(routeYAML, 900002, movedHost, "moved", "moved")),
		c.write("moved.yaml", service("moved", c.red.Addr)),
		c.write("talks.yaml", fmt.Sprintf(routeYAML, 900003, socketHost, "socket", "red")+"---\n"+fmt.Sprintf(callYAML, callHost)+service("caller", c.caller.Addr)),
		c.reorder(), c.certificate(), c.wildRoute(intent{"red", "wild"}), c.weights(1),
	)
}

func (c *churn) close() {
	_ = c.caller.Close()
	c.shop.close()
}

// requests are what the load sends: every host in turn.
func (c *churn) requests(n int) []probeRequest {
	var out []probeRequest
	for i := range n {
		out = append(out, probeRequest{rig.Request{Port: c.port, Host: hostOf(i)}, hostOf(i)})
	}
	return append(out,
		probeRequest{rig.Request{Port: c.port, Host: orderedHost, Path: "/a"}, orderedHost + "/a"},
		probeRequest{rig.Request{Port: c.port, Host: orderedHost, Path: "/b"}, orderedHost + "/b"},
		probeRequest{rig.Request{Port: c.port, Host: movedHost}, movedHost},
		probeRequest{rig.Request{Port: c.port, Host: wildHost}, wildHost},
		probeRequest{rig.Request{Port: c.port, Host: weightedHost}, weightedHost},
		probeRequest{rig.Request{Port: c.tlsPort, Host: secureHost, Roots: c.roots}, secureHost},
		probeRequest{rig.Request{Port: c.tlsPort, Host: secureHost, Roots: c.roots, HTTP2: true}, secureHost},
	)
}

// edit makes edit k and waits until it is served. Edits of a kind follow one
// another in turns.
func (c *churn) edit(ctx context.Context, k, n int) error {
	kinds := []func(context.Context, int) error{
		func(ctx context.Context, turn int) error { return c.move(ctx, turn%n, turn) },
		func(context.Context, int) error { return c.reorder() },
		func(ctx context.Context, _ int) error { return c.rotate(ctx) },
		c.replace, c.wild, c.comesAndGoes, c.shift,
	}
	return kinds[k%len(kinds)](ctx, k/len(kinds))
}

// move sends a route to another backend, with another mark.
func (c *churn) move(ctx context.Context, i, turn int) error {
	next := intent{[]string{"red", "blue"}[turn%2], "m" + strconv.Itoa(turn)}
	return c.change(ctx, hostOf(i), next, func() error { return c.route(i, next.backend, next.mark) })
}

// replace gives a service another endpoint.
func (c *churn) replace(ctx context.Context, turn int) error {
	to := []*backend.HTTP{c.blue, c.red}[turn%2]
	return c.change(ctx, movedHost, intent{to.Name, "moved"}, func() error { return c.endpoints(to.Addr) })
}

// wild is move for a route with a wildcard host.
func (c *churn) wild(ctx context.Context, turn int) error {
	next := intent{[]string{"blue", "red"}[turn%2], "w" + strconv.Itoa(turn)}
	return c.change(ctx, wildHost, next, func() error { return c.wildRoute(next) })
}

func (c *churn) wildRoute(to intent) error {
	return c.write("wild.yaml", fmt.Sprintf(routeYAML, 900004, `"*.wild.example.com"`, to.mark, to.backend))
}

// shift changes the weights of a route between all for one backend and all for the other.
func (c *churn) shift(ctx context.Context, turn int) error {
	next := intent{[]string{"blue", "red"}[turn%2], "weighted"}
	return c.change(ctx, weightedHost, next, func() error { return c.weights(turn % 2) })
}

func (c *churn) weights(red int) error {
	return c.write("weighted.yaml", fmt.Sprintf(weightedYAML, red, 1-red))
}

// comesAndGoes makes a route, asks it, and removes it: others keep their answers.
func (c *churn) comesAndGoes(ctx context.Context, turn int) error {
	r := rig.Request{Port: c.port, Host: fmt.Sprintf("guest%d.example.com", turn)}
	client := rig.NewClient(r)
	defer client.Close()
	if err := c.write("guest.yaml", fmt.Sprintf(routeYAML, 900005, r.Host, "guest", "blue")); err != nil {
		return err
	}
	if _, err := seen(ctx, client, r, "blue", "guest"); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(c.dir, "guest.yaml")); err != nil {
		return err
	}
	_, err := status(ctx, client, r, 404)
	return err
}

// change writes, and holds requests to the new intent once it was seen.
func (c *churn) change(ctx context.Context, key string, next intent, write func() error) error {
	r := rig.Request{Port: c.port, Host: key}
	client := rig.NewClient(r)
	defer client.Close()
	c.intents.begin(key, next)
	if err := write(); err != nil {
		return err
	}
	if _, err := seen(ctx, client, r, next.backend, next.mark); err != nil {
		return err
	}
	c.intents.replace(key, next)
	return nil
}

// reorder swaps two rules that match different paths: no answer may change.
func (c *churn) reorder() error {
	c.flipped = !c.flipped
	a, b := fmt.Sprintf(ruleYAML, "/a", "a", "red"), fmt.Sprintf(ruleYAML, "/b", "b", "blue")
	if c.flipped {
		a, b = b, a
	}
	return c.write("ordered.yaml", orderedYAML+a+b)
}

// rotate replaces the certificate and waits until it is the one presented.
func (c *churn) rotate(ctx context.Context) error {
	if err := c.certificate(); err != nil {
		return err
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		got, err := rig.Do(ctx, rig.Request{Port: c.tlsPort, Host: secureHost, Roots: c.roots})
		if err != nil {
			return err
		}
		pair, err := c.leaf.TLS()
		if err != nil {
			return err
		}
		if bytes.Equal(got.TLS.PeerCertificates[0].Raw, pair.Certificate[0]) {
			return nil
		}
	}
	return errors.New("the new certificate is not presented after 10 s")
}

func (c *churn) certificate() error {
	leaf, err := c.authority.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), secureHost)
	if err != nil {
		return err
	}
	c.leaf = leaf
	encode := base64.StdEncoding.EncodeToString
	return c.write("secret.yaml", fmt.Sprintf(secretYAML, encode(leaf.Cert), encode(leaf.Key)))
}

const httpsYAML = `  - name: https
    protocol: HTTPS
    port: %d
    tls: {certificateRefs: [{name: pair}]}
`

const secretYAML = `apiVersion: v1
kind: Secret
metadata: {name: pair, namespace: bench}
type: kubernetes.io/tls
data:
  tls.crt: %s
  tls.key: %s
`

const weightedYAML = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: weighted, namespace: bench}
spec:
  parentRefs: [{name: edge}]
  hostnames: [weighted.example.com]
  rules:
  - filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: X-Mark, value: weighted}]}
    backendRefs: [{name: red, port: 80, weight: %d}, {name: blue, port: 80, weight: %d}]
`

const callYAML = `apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: call, namespace: bench}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%s]
  rules:
  - filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: X-Mark, value: call}]}
    backendRefs: [{name: caller, port: 80}]
---
`

const orderedYAML = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ordered, namespace: bench}
spec:
  parentRefs: [{name: edge}]
  hostnames: [ordered.example.com]
  rules:
`

const ruleYAML = `  - matches: [{path: {type: PathPrefix, value: %s}}]
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: X-Mark, value: %s}]}
    backendRefs: [{name: %s, port: 80}]
`
