package envoy

import (
	"bytes"
	_ "embed"
	"net/netip"
	"path/filepath"
	"text/template"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const (
	cluster = "backends"
	// Abstract sockets belong to the network namespace, as ports do, and leave no file.
	adminSocket  = "@lab-envoy-admin"
	serverSocket = "@lab-envoy-endpoints"
	// markHost is the host of requests that are there to be logged.
	markHost = "mark.invalid"
)

//go:embed bootstrap.yaml
var bootstrapText string

var bootstrapTemplate = template.Must(template.New("bootstrap.yaml").Parse(bootstrapText))

// bootstrap is what Envoy starts with. Its endpoints come from the file of a fileFeed,
// else from the server.
func bootstrap(accessLog string, f feed) ([]byte, error) {
	values := struct {
		Admin, Server, Cluster, MarkHost, AccessLog, Header string
		Listen                                              netip.AddrPort
		EndpointsFile, EndpointsDir                         string
	}{
		Admin: adminSocket, Server: serverSocket, Cluster: cluster, MarkHost: markHost,
		AccessLog: accessLog, Header: proxy.HeaderRequest, Listen: netip.MustParseAddrPort(proxy.ListenAddress),
	}
	if file, ok := f.(*fileFeed); ok {
		values.EndpointsFile, values.EndpointsDir = file.path(), filepath.Dir(file.path())
	}
	var out bytes.Buffer
	err := bootstrapTemplate.Execute(&out, values)
	return out.Bytes(), err
}
