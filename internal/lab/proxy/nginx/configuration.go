package nginx

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const (
	// workers is how many processes serve requests; nginx's default is one.
	workers = 2
	// generationPath is where nginx says who it is. Requests have numbers as paths.
	generationPath = "/generation"
)

//go:embed nginx.conf
var configurationText string

var configurationTemplate = template.Must(template.New("nginx.conf").Parse(configurationText))

// configuration is the file of a generation.
func configuration(o proxy.Options, generation int, backends []proxy.Backend) ([]byte, error) {
	var out bytes.Buffer
	err := configurationTemplate.Execute(&out, struct {
		Dir, Listen, HeaderVariable, GenerationPath, GenerationLog string
		Generation, Workers, Port                                  int
		Backends                                                   []proxy.Backend
		RetriesOff                                                 bool
	}{
		Dir: o.Dir, Listen: proxy.ListenAddress, HeaderVariable: variable(proxy.HeaderRequest),
		GenerationPath: generationPath, GenerationLog: generationLog(o.Dir),
		Generation: generation, Workers: workers, Port: proxy.BackendPort,
		Backends: backends, RetriesOff: o.RetriesOff,
	})
	if err != nil {
		return nil, fmt.Errorf("make nginx's configuration: %w", err)
	}
	return out.Bytes(), nil
}

// variable is nginx's name for a request header.
func variable(header string) string {
	return "http_" + strings.ReplaceAll(strings.ToLower(header), "-", "_")
}

// generationLog is the path, without the number at its end, of the file that every
// worker of a generation has open.
func generationLog(dir string) string { return filepath.Join(dir, "generation-") }
