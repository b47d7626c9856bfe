package gatehouse

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"text/template"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const (
	// workers is how many threads of Envoy serve requests; its default is one a CPU.
	workers = 2
	// markPath begins the paths of requests that are there to be logged.
	markPath = "/mark"
	// cluster is what Envoy knows the Service's port by.
	cluster = "lab/backends:8080"
	// maxEndpoints is what one EndpointSlice holds, by its API.
	maxEndpoints = 1000
)

//go:embed gateway.yaml
var gatewayText string

var gatewayTemplate = template.Must(template.New("gateway.yaml").Parse(gatewayText))

// gatewayObjects are the objects that stay.
func gatewayObjects(accessLog string, retriesOff bool) ([]byte, error) {
	var out bytes.Buffer
	err := gatewayTemplate.Execute(&out, struct {
		Workers, BackendPort int
		AccessLog, MarkPath  string
		Listen               netip.AddrPort
		RetriesOff           bool
	}{
		Workers: workers, BackendPort: proxy.BackendPort, AccessLog: accessLog, MarkPath: markPath,
		Listen: netip.MustParseAddrPort(proxy.ListenAddress), RetriesOff: retriesOff,
	})
	return out.Bytes(), err
}

type endpointSlice struct {
	APIVersion  string     `json:"apiVersion"`
	Kind        string     `json:"kind"`
	Metadata    metadata   `json:"metadata"`
	AddressType string     `json:"addressType"`
	Ports       []port     `json:"ports"`
	Endpoints   []endpoint `json:"endpoints"`
}

type metadata struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	Labels    map[string]string `json:"labels"`
}

type port struct {
	Name string `json:"name"`
	Port int    `json:"port"`
}

type endpoint struct {
	Addresses []netip.Addr `json:"addresses"`
}

// endpointObjects are the EndpointSlices of the Service, as many as are needed.
func endpointObjects(backends []proxy.Backend) ([]byte, error) {
	groups := slices.Collect(slices.Chunk(backends, maxEndpoints))
	if len(groups) == 0 {
		groups = [][]proxy.Backend{nil}
	}
	var out bytes.Buffer
	for i, group := range groups {
		text, err := json.Marshal(newSlice(i, group))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s\n", text)
	}
	return out.Bytes(), nil
}

func newSlice(index int, backends []proxy.Backend) endpointSlice {
	endpoints := make([]endpoint, 0, len(backends))
	for _, b := range backends {
		endpoints = append(endpoints, endpoint{Addresses: []netip.Addr{b.Address}})
	}
	return endpointSlice{
		APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice",
		Metadata: metadata{
			Name: fmt.Sprintf("backends-%d", index), Namespace: "lab",
			Labels: map[string]string{"kubernetes.io/service-name": "backends"},
		},
		AddressType: "IPv4", Ports: []port{{Name: "http", Port: proxy.BackendPort}}, Endpoints: endpoints,
	}
}
