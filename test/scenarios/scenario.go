package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Controller is the controller name of all scenarios, Bind where they listen, and
// Now when they happen.
const Controller = "gatehouse.dev/gateway-controller"

var (
	// Bind is where listeners of scenarios bind.
	Bind = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	// Now is the time of all scenarios; certificates in them are valid then.
	Now = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)
)

// Outcome is what became of a scenario's objects.
type Outcome struct {
	graph    *pipeline.Graph
	decision acceptance.Decision
	reporter *pipeline.Reporter
	batch    snapshot.Batch
}

// Options are the switches of a scenario, from the words of its comment.
type Options struct{ Experimental, XBackend bool }

// Run puts files (by name) through the pipeline as "gatehouse run" does at its start.
func Run(dir string, files map[string][]byte, o Options) (*Outcome, error) {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	batch := file.ReadOnce(file.Options{Paths: []string{dir}, Schema: schema.Options{Open: o.open}})
	out := &Outcome{batch: batch, graph: pipeline.NewGraph(
		compile.Options{ControllerName: Controller, Experimental: o.Experimental, XBackend: o.XBackend, BindAddress: Bind},
		envoy.Options{BindAddress: Bind},
	)}
	out.decision, out.reporter = out.graph.Offline(batch, Controller, Bind, Now)
	return out, nil
}

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

// Model is the model as YAML, a document a value.
func (o *Outcome) Model() ([]byte, error) {
	var b bytes.Buffer
	m, s := o.graph.Compiled.Model, o.decision.State
	for _, write := range []func() error{
		func() error { return documents(&b, "gateway", s, m.Gateways) },
		func() error { return documents(&b, "listener", s, m.Listeners) },
		func() error { return documents(&b, "table", s, m.Tables) },
		func() error { return documents(&b, "cluster", s, m.Clusters) },
		func() error { return documents(&b, "endpoints", s, m.Endpoints) },
	} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func documents[V any](b *bytes.Buffer, what string, s derive.State, of derive.Collection[V]) error {
	for key, value := range derive.Items(s, of) {
		text, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("%s %s: %w", what, key, err)
		}
		fmt.Fprintf(b, "# %s %s\n%s", what, key, dropEmpty(text))
	}
	return nil
}

// dropEmpty leaves out lines of fields that are not set, which would be most.
func dropEmpty(text []byte) []byte {
	var out [][]byte
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		empty := false
		for _, suffix := range []string{": null", `: ""`, ": 0", ": false", ": []"} {
			empty = empty || bytes.HasSuffix(trimmed, []byte(suffix))
		}
		if !empty {
			out = append(out, line)
		}
	}
	return bytes.Join(out, nil)
}

// Envoy is the Envoy configuration as YAML, a document a resource; keys are redacted.
func (o *Outcome) Envoy() ([]byte, error) {
	var b bytes.Buffer
	for _, r := range o.Resources() {
		body, err := envoy.JSON(r, false)
		if err != nil {
			return nil, err
		}
		text, err := yaml.JSONToYAML(body)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "# %s %s\n%s", pipeline.ShortType(r.Type), r.Name.Name, text)
	}
	return b.Bytes(), nil
}

// Status is the status of every object that has one, as YAML.
func (o *Outcome) Status() ([]byte, error) {
	var b bytes.Buffer
	for _, raw := range o.reporter.Objects("", "") {
		var object struct {
			Kind     string         `json:"kind"`
			Metadata map[string]any `json:"metadata"`
			Status   map[string]any `json:"status"`
		}
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, err
		}
		dropTimes(object.Status)
		if len(object.Status) == 0 {
			continue
		}
		text, err := yaml.Marshal(object.Status)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "# %s %v/%v\n%s", object.Kind, object.Metadata["namespace"], object.Metadata["name"], text)
	}
	return b.Bytes(), nil
}

// dropTimes removes what every condition of a scenario has in common.
func dropTimes(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "lastTransitionTime")
		for key, inner := range v {
			if inner == nil {
				delete(v, key)
				continue
			}
			dropTimes(inner)
		}
	case []any:
		for _, inner := range v {
			dropTimes(inner)
		}
	}
}

// Verdicts are all verdicts, a line each step, and the refused documents without a name.
func (o *Outcome) Verdicts() []byte {
	var b bytes.Buffer
	for _, v := range o.reporter.Verdicts("") {
		name := snapshot.NamespacedName(v.Object.Namespace, v.Object.Name)
		fmt.Fprintf(&b, "%s %s: %s\n", v.Object.Kind, name, v.State)
		for _, s := range v.Steps {
			writeStep(&b, s)
		}
	}
	return b.Bytes()
}

func writeStep(b *bytes.Buffer, s verdict.Step) {
	if s.Stage == verdict.Watch || s.Stage == verdict.Publish || s.Reason == verdict.Accepted.Name {
		return
	}
	fields := []string{string(s.Stage), string(s.Outcome), s.Reason}
	if s.Field != "" {
		fields = append(fields, s.Field)
	}
	fmt.Fprintf(b, "  %s: %s\n", strings.Join(fields, " "), s.Message)
}

// open reports whether a feature switch is on.
func (o Options) open(f snapshot.Feature) bool {
	return f == snapshot.FeatureExperimental && o.Experimental || f == snapshot.FeatureXBackend && o.XBackend
}
