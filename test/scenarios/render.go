package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// Model is the model as YAML, a document a value. Certificates and keys are left out.
func (o *Outcome) Model() ([]byte, error) {
	var b bytes.Buffer
	m, s := o.graph.Compiled.Model, o.decision.State
	for _, write := range []func() error{
		func() error { return documents(&b, "gateway", s, m.Gateways) },
		func() error { return documents(&b, "listener", s, m.Listeners) },
		func() error { return documents(&b, "certificate", s, m.Certificates) },
		func() error { return documents(&b, "table", s, m.Tables) },
		func() error { return documents(&b, "host", s, m.Hosts) },
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
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("%s %s: %w", what, key, err)
		}
		if err := writeYAML(b, what+" "+key, text, drop("Chain", "Key"), dropEmpty); err != nil {
			return err
		}
	}
	return nil
}

// Envoy is the Envoy configuration as YAML, a document a resource; keys are redacted.
func (o *Outcome) Envoy() ([]byte, error) {
	var b bytes.Buffer
	for _, r := range o.Resources() {
		body, err := envoy.JSON(r, false)
		if err != nil {
			return nil, err
		}
		title := pipeline.ShortType(r.Type) + " " + r.Name.Name
		if r.Group != "" {
			title += " of " + r.Group
		}
		if err := writeYAML(&b, title, body, o.unlessWhole(foldUsual)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// Status is the status of every object that has one, as YAML.
func (o *Outcome) Status() ([]byte, error) {
	var b bytes.Buffer
	for _, raw := range o.reporter.Objects("", "") {
		var object struct {
			Kind     string `json:"kind"`
			Metadata struct{ Namespace, Name string }
			Status   json.RawMessage `json:"status"`
		}
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, err
		}
		title := object.Kind + " " + snapshot.NamespacedName(object.Metadata.Namespace, object.Metadata.Name)
		if err := writeYAML(&b, title, object.Status, drop("lastTransitionTime"), o.unlessWhole(drop("supportedFeatures")), dropEmpty); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func (o *Outcome) unlessWhole(edit edit) edit {
	if o.options.Whole {
		return func(*yaml.Node) {}
	}
	return edit
}

// Verdicts are all verdicts, a line each step, and then the parts of files that
// name no object.
func (o *Outcome) Verdicts() []byte {
	var b bytes.Buffer
	named := map[string]bool{}
	for _, v := range o.reporter.Verdicts("") {
		name := v.Object.Kind + " " + snapshot.NamespacedName(v.Object.Namespace, v.Object.Name)
		named[name] = true
		fmt.Fprintf(&b, "%s: %s\n", name, v.State)
		for _, s := range v.Steps {
			o.writeStep(&b, s)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(o.batch.Findings)) {
		for _, f := range o.batch.Findings[path] {
			if !named[f.Object.Collection+" "+f.Object.Name] {
				fmt.Fprintf(&b, "%s:%d: %s\n", f.File, f.Line, verdict.Rejected)
				o.writeStep(&b, f.Step)
			}
		}
	}
	return o.local(b.Bytes())
}

// silent are the reasons that every good object has. Scenarios with "output: whole"
// show them, except those that depend on when and where the scenario is run.
var (
	silent       = []string{verdict.Seen.Name, verdict.Accepted.Name, verdict.Acknowledged.Name}
	usualReasons = []string{verdict.Referenced.Name, verdict.Translated.Name}
)

func (o *Outcome) writeStep(b *bytes.Buffer, s verdict.Step) {
	if slices.Contains(silent, s.Reason) || !o.options.Whole && slices.Contains(usualReasons, s.Reason) {
		return
	}
	fields := []string{string(s.Stage), string(s.Outcome), s.Reason}
	if s.Field != "" {
		fields = append(fields, s.Field)
	}
	fmt.Fprintf(b, "  %s: %s\n", strings.Join(fields, " "), s.Message)
}
