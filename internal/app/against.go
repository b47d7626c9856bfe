package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// against asks a running instance what it would say of files if they were saved. What
// is no document of an object is found here; which features are on is decided there.
func against(ctx context.Context, o ValidateOptions) (Report, error) {
	batch := file.ReadOnce(file.Options{Paths: o.Paths, Schema: schema.Options{Open: func(snapshot.Feature) bool { return true }}})
	report := Report{Files: batch.Files, Objects: len(batch.Edits), Findings: []Finding{}}
	for _, findings := range batch.Findings {
		for _, f := range findings {
			report.Findings = append(report.Findings, findingAt(f.Object, f.Origin, f.Step))
		}
	}
	proposal, err := proposalOf(batch, o.Deletions)
	if err != nil {
		return Report{}, err
	}
	if len(proposal.Objects)+len(proposal.Deletions) > 0 {
		admission, err := admin.Client{Address: o.Against, Timeout: o.Timeout}.Admit(ctx, proposal)
		if err != nil {
			return Report{}, err
		}
		report.Findings = append(report.Findings, findingsOf(admission, batch)...)
		report.Findings = append(report.Findings, absent(admission, batch)...)
	}
	slices.SortStableFunc(report.Findings, comparePlace)
	return report, nil
}

// proposalOf is everything that files hold, to be saved together.
func proposalOf(batch snapshot.Batch, deletions []Deletion) (admin.Proposal, error) {
	var out admin.Proposal
	for _, e := range batch.Edits {
		raw, err := json.Marshal(e.Value)
		if err != nil {
			return out, fmt.Errorf("%s has no JSON form: %w; please report this as a bug", e.Key, err)
		}
		out.Objects = append(out.Objects, raw)
	}
	for _, d := range deletions {
		out.Deletions = append(out.Deletions, admin.ObjectName(d))
	}
	return out, nil
}

// findingsOf are what an instance says of a proposal, at the places in the files.
func findingsOf(a admin.Admission, batch snapshot.Batch) []Finding {
	var out []Finding
	for _, f := range a.Findings {
		key := store.Key{Collection: f.Kind, Name: f.Name}
		found := findingAt(key, batch.Origins[key], f.Step)
		found.Warning = !f.Fails
		if f.Other {
			found.File = f.Where
			found.Message += others(f.Fails)
		}
		out = append(out, found)
	}
	for _, warning := range a.Warnings {
		out = append(out, Finding{Reason: verdict.RefusedByValidator.Name, Message: warning, Warning: true})
	}
	if a.Message != "" {
		out = append(out, Finding{Reason: a.Reason, Message: a.Message, Warning: a.Admitted})
	}
	return out
}

func others(fails bool) string {
	if fails {
		return "; the change would reject it"
	}
	return "; the change would make it so"
}

// absent are the deletions of what is not there.
func absent(a admin.Admission, batch snapshot.Batch) []Finding {
	var out []Finding
	for _, o := range a.Objects {
		key := store.Key{Collection: o.Kind, Name: o.Name}
		if _, inFile := batch.Origins[key]; o.Change == admin.ChangeNone && !inFile {
			out = append(out, Finding{
				Kind: o.Kind, Name: o.Name, Reason: verdict.NoEffect.Name, Warning: true,
				Message: "is not there, so nothing is deleted; check kind, namespace and name",
			})
		}
	}
	return out
}
