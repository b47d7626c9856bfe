package bench

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// shop is a directory of routes, each with a host name and a file of its own,
// and the two backends that they may be sent to.
type shop struct {
	dir  string
	port uint16
	red  *backend.HTTP
	blue *backend.HTTP
	// hosts is how many host names the routes share; 0 gives each its own.
	hosts int
}

// newShop writes n routes, all to the red backend with mark 0.
func newShop(ctx context.Context, dir string, n int) (*shop, error) { return newShopOf(ctx, dir, n, 0) }

// newShopOf is newShop with so many host names; 0 gives each route its own.
func newShopOf(ctx context.Context, dir string, n, hosts int) (*shop, error) {
	s := &shop{dir: filepath.Join(dir, "config"), hosts: hosts}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if s.red, err = backend.StartHTTP(ctx, "red", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if s.blue, err = backend.StartHTTP(ctx, "blue", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if s.port, err = rig.FreePort(ctx); err != nil {
		return nil, err
	}
	if err := s.write("gateway.yaml", fmt.Sprintf(gatewayYAML, s.port)); err != nil {
		return nil, err
	}
	if err := s.write("backends.yaml", service("red", s.red.Addr)+service("blue", s.blue.Addr)); err != nil {
		return nil, err
	}
	for i := range n {
		if err := s.route(i, "red", "0"); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *shop) close() {
	_ = s.red.Close()
	_ = s.blue.Close()
}

// write replaces a file as an editor does: a new file is renamed over it.
func (s *shop) write(name, content string) error {
	fresh := filepath.Join(s.dir, "."+name+".new")
	if err := os.WriteFile(fresh, []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(s.dir, name))
}

// route writes route i: where it goes, and the mark that its filter leaves.
func (s *shop) route(i int, to, mark string) error {
	host, path := s.at(i)
	text := fmt.Sprintf(routeYAML, i, host, mark, to)
	if path != "/" {
		text = strings.Replace(text, "  - filters:", "  - matches: [{path: {value: "+path+"}}]\n    filters:", 1)
	}
	return s.write(fmt.Sprintf("route-%d.yaml", i), text)
}

// at is where route i answers.
func (s *shop) at(i int) (host, path string) {
	if s.hosts == 0 {
		return hostOf(i), "/"
	}
	return hostOf(i % s.hosts), fmt.Sprintf("/r%d", i)
}

// endpoints writes the service "moved" with one endpoint.
func (s *shop) endpoints(at netip.AddrPort) error {
	return s.write("moved.yaml", service("moved", at))
}

func hostOf(i int) string { return fmt.Sprintf("h%d.example.com", i) }

func service(name string, at netip.AddrPort) string {
	return strings.NewReplacer("NAME", name, "ADDRESS", at.Addr().String(), "PORT", fmt.Sprint(at.Port())).Replace(serviceYAML)
}

// One worker, because the workers of an Envoy take a new table one after the
// other: only with one does the first new answer mean that no old one follows.
const gatewayYAML = `apiVersion: gatehouse.dev/v1alpha1
kind: GatewayConfig
metadata: {name: one-worker, namespace: bench}
spec: {concurrency: 1}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: gatehouse}
spec:
  controllerName: gatehouse.dev/gateway-controller
  parametersRef: {group: gatehouse.dev, kind: GatewayConfig, name: one-worker, namespace: bench}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: bench}
spec:
  gatewayClassName: gatehouse
  listeners:
  - {name: http, protocol: HTTP, port: %d}
`

const routeYAML = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%d, namespace: bench}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%s]
  rules:
  - filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: X-Mark, value: "%s"}]}
    backendRefs: [{name: %s, port: 80}]
`

const serviceYAML = `apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: bench}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: NAME-1, namespace: bench, labels: {kubernetes.io/service-name: NAME}}
addressType: IPv4
ports: [{name: http, port: PORT}]
endpoints: [{addresses: [ADDRESS]}]
---
`
