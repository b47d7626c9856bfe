package scenarios

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Controller is the controller name of all scenarios.
const Controller = "gatehouse.dev/gateway-controller"

var (
	// Bind is where listeners of scenarios bind.
	Bind = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	// Now is the time of all scenarios.
	Now = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)
)

// Options are the switches of a scenario.
type Options struct {
	Experimental, XBackend bool
	// Whole shows also what all resources have in common.
	Whole bool
	// Secrets are names of files in the directory secrets that are read as well.
	Secrets []string
}

// OptionsOf reads the switches from the words of a scenario's comment.
func OptionsOf(comment string) Options {
	o := Options{
		Experimental: strings.Contains(comment, "features.experimental: true"),
		XBackend:     !strings.Contains(comment, "features.xbackend: false"),
		Whole:        strings.Contains(comment, "output: whole"),
	}
	for line := range strings.Lines(comment) {
		if names, ok := strings.CutPrefix(line, "secrets: "); ok {
			o.Secrets = strings.Fields(names)
		}
	}
	return o
}

// open reports whether a feature switch is on.
func (o Options) open(f snapshot.Feature) bool {
	return f == snapshot.FeatureExperimental && o.Experimental || f == snapshot.FeatureXBackend && o.XBackend
}

// Outcome is what became of a scenario's objects.
type Outcome struct {
	dir      string
	options  Options
	graph    *pipeline.Graph
	decision acceptance.Decision
	reporter *pipeline.Reporter
	batch    snapshot.Batch
}

// Run puts files (by name) through the pipeline as "gatehouse run" does at its
// start, and answers as if every proxy had acknowledged everything.
func Run(dir string, files map[string][]byte, o Options) (*Outcome, error) {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, err
		}
	}
	batch := file.ReadOnce(file.Options{Paths: []string{dir}, Schema: schema.Options{Open: o.open}})
	return evaluate(dir, o, batch), nil
}

func evaluate(dir string, o Options, batch snapshot.Batch) *Outcome {
	out := &Outcome{dir: dir, options: o, batch: batch, graph: pipeline.NewGraph(
		compile.Options{ControllerName: Controller, Experimental: o.Experimental, XBackend: o.XBackend, BindAddress: Bind},
		envoy.Options{BindAddress: Bind},
	)}
	out.decision, out.reporter = out.graph.Offline(batch, Controller, Bind, Now)
	return out
}

// Again is the outcome of the same objects, evaluated anew.
func (o *Outcome) Again() *Outcome { return evaluate(o.dir, o.options, o.batch) }

// Resources are all xDS resources.
func (o *Outcome) Resources() []xdsserve.Resource {
	var out []xdsserve.Resource
	for _, collection := range o.graph.Resources() {
		for _, output := range derive.Items(o.decision.State, collection.Of) {
			if output.Resource != nil {
				out = append(out, *output.Resource)
			}
		}
	}
	return out
}

// local removes the directory of the scenario from a text.
func (o *Outcome) local(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(o.dir+string(filepath.Separator)), nil)
}
