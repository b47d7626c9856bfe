package model_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/model"
)

// seedSteps are the seed's events, with what it says of truth and views after each.
var seedSteps = []struct {
	kind                  lab.Kind
	backend               string
	truth, stream, reload []string
}{
	{lab.Add, "10.0.1.11", views("10.0.1.11"), views("10.0.1.11"), views()},
	{lab.Add, "10.0.1.12", views("10.0.1.11", "10.0.1.12"), views("10.0.1.11", "10.0.1.12"), views()},
	{lab.Reload, "", views("10.0.1.11", "10.0.1.12"), views("10.0.1.11", "10.0.1.12"), views("10.0.1.11", "10.0.1.12")},
	{
		lab.Add, "10.0.1.13", views("10.0.1.11", "10.0.1.12", "10.0.1.13"),
		views("10.0.1.11", "10.0.1.12", "10.0.1.13"), views("10.0.1.11", "10.0.1.12"),
	},
	{lab.Remove, "10.0.1.11", views("10.0.1.12", "10.0.1.13"), views("10.0.1.12", "10.0.1.13"), views("10.0.1.11", "10.0.1.12")},
	{lab.Reload, "", views("10.0.1.12", "10.0.1.13"), views("10.0.1.12", "10.0.1.13"), views("10.0.1.12", "10.0.1.13")},
}

func views(names ...string) []string { return append([]string{}, names...) }

func TestClustersFollowTheSeed(t *testing.T) {
	stream, reload := cluster(t, lab.ModelStream), cluster(t, lab.ModelReload)
	for i, step := range seedSteps {
		if step.kind == lab.Reload {
			must(t, reload.Reload())
		} else {
			must(t, stream.ApplyStreamEvent(step.kind, step.backend))
			must(t, reload.StageForReload(step.kind, step.backend))
		}
		if diff := cmp.Diff([][]string{step.stream, step.reload}, [][]string{stream.View(), reload.View()}); diff != "" {
			t.Errorf("step %d: %s", i+1, diff)
		}
	}
}

func TestRunFollowsTheSeed(t *testing.T) {
	line := lab.Timeline{Length: 7 * second}
	for i, step := range seedSteps {
		line.Events = append(line.Events, lab.Event{At: lab.Moment(i+1) * second, Kind: step.kind, Backend: step.backend})
	}
	stream, reload := run(t, "model:stream", line), run(t, "model:reload", line)
	for i, step := range seedSteps {
		at := line.Events[i].At
		got := [][]string{lab.At(stream.Truth, at), lab.At(stream.Belief, at), lab.At(reload.Truth, at), lab.At(reload.Belief, at)}
		if diff := cmp.Diff([][]string{step.truth, step.stream, step.truth, step.reload}, got); diff != "" {
			t.Errorf("step %d: %s", i+1, diff)
		}
		stale := !slices.Equal(step.truth, step.reload)
		if wrong := wrongAt(reload, at); wrong != stale {
			t.Errorf("step %d: the reload model is wrong: %v, want %v", i+1, wrong, stale)
		}
	}
	if stream.Updates != 4 || reload.Updates != 2 {
		t.Errorf("%d changes and %d reloads, want 4 and 2", stream.Updates, reload.Updates)
	}
}

func TestClusterIsIdempotent(t *testing.T) {
	stream, reload := cluster(t, lab.ModelStream), cluster(t, lab.ModelReload)
	for _, kind := range []lab.Kind{lab.Remove, lab.Add, lab.Add} {
		must(t, stream.ApplyStreamEvent(kind, "a"))
		must(t, reload.StageForReload(kind, "a"))
		must(t, reload.Reload())
	}
	if diff := cmp.Diff([][]string{{"a"}, {"a"}}, [][]string{stream.View(), reload.View()}); diff != "" {
		t.Error(diff)
	}
}

func TestClusterRefusesOperationsOfTheOtherModel(t *testing.T) {
	stream, reload := cluster(t, lab.ModelStream), cluster(t, lab.ModelReload)
	for want, err := range map[string]error{
		"the stream model has no StageForReload: use ApplyStreamEvent":            stream.StageForReload(lab.Add, "a"),
		"the stream model has no Reload: use ApplyStreamEvent":                    stream.Reload(),
		"the reload model has no ApplyStreamEvent: use StageForReload and Reload": reload.ApplyStreamEvent(lab.Add, "a"),
		`ApplyStreamEvent takes no event "reload": use "add" or "remove"`:         stream.ApplyStreamEvent(lab.Reload, ""),
		`StageForReload takes no event "lose": use "add" or "remove"`:             reload.StageForReload(lab.Lose, "a"),
	} {
		if _, ok := errors.AsType[*model.OperationError](err); !ok || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if got := append(stream.View(), reload.View()...); len(got) > 0 {
		t.Errorf("a refused operation changed a view to %v", got)
	}
}

func TestNewClusterRefusesUnknownModels(t *testing.T) {
	for _, name := range []lab.Model{"", "Stream", "dns", "reloads"} {
		_, err := model.NewCluster(name)
		if unknown, ok := errors.AsType[*model.UnknownModelError](err); !ok || unknown.Model != name {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func cluster(t *testing.T, m lab.Model) *model.Cluster {
	t.Helper()
	c, err := model.NewCluster(m)
	must(t, err)
	return c
}

func wrongAt(p lab.Proxy, at lab.Moment) bool {
	return slices.ContainsFunc(p.Wrong.Windows, func(s lab.Span) bool { return s.Contains(at) })
}

func run(t testing.TB, name string, line lab.Timeline) lab.Proxy {
	t.Helper()
	spec, err := model.Parse(name)
	must(t, err)
	p, err := model.Run(spec, line)
	must(t, err)
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
