package app

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// offline is what a set of files comes to, without running anything.
type offline struct {
	graph    *pipeline.Graph
	batch    snapshot.Batch
	decision acceptance.Decision
}

// load reads files and puts them through one round, as Run does at its start.
func load(paths []string, controller string, f config.Features, bind netip.Addr) offline {
	batch := file.ReadOnce(file.Options{Paths: paths, Schema: schema.Options{Open: opened(f)}})
	graph := newGraph(controller, f, bind)
	decision, _ := graph.Offline(batch, controller, bind, time.Time{})
	return offline{graph: graph, batch: batch, decision: decision}
}

// Validate looks at files as Run would, and returns how many findings fail them.
func Validate(ctx context.Context, o ValidateOptions, _ IO) (findings int, err error) {
	var report Report
	if o.Against != "" {
		if report, err = against(ctx, o); err != nil {
			return 0, err
		}
	} else {
		loaded := load(o.Paths, o.ControllerName, o.Features, o.BindAddress)
		report = Report{Files: loaded.batch.Files, Objects: len(loaded.batch.Edits), Findings: loaded.findings()}
	}
	for _, f := range report.Findings {
		if !f.Warning {
			findings++
		}
	}
	return findings, o.Print(report)
}

// findings are what is wrong with the files, in order of place.
func (l offline) findings() []Finding {
	out := []Finding{}
	for _, findings := range l.batch.Findings {
		for _, f := range findings {
			out = append(out, findingAt(f.Object, f.Origin, f.Step))
		}
	}
	for key, rejection := range l.decision.Rejected {
		for _, step := range rejection.Steps {
			out = append(out, findingAt(key, l.batch.Origins[key], step))
		}
	}
	for key, f := range l.graph.Compiled.Findings.All(l.decision.State) {
		for _, step := range f.Steps {
			if step.Outcome == verdict.WasRejected || pipeline.WorthALook(step) {
				out = append(out, findingAt(key, l.batch.Origins[key], step))
			}
		}
	}
	slices.SortStableFunc(out, comparePlace)
	return out
}

func findingAt(key store.Key, o snapshot.Origin, s verdict.Step) Finding {
	return Finding{
		File: o.File, Document: o.Document, Line: o.Line, Kind: key.Collection, Name: key.Name,
		Field: s.Field, Reason: s.Reason, Message: s.Message, Warning: s.Outcome != verdict.WasRejected,
	}
}
