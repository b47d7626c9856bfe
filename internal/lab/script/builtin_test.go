package script_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

func TestDefaultHasTheSeedsSteps(t *testing.T) {
	s, _ := script.BuiltIn(script.Default)
	timeline, err := s.Timeline(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	second := lab.Moment(time.Second)
	want := lab.Timeline{
		Name:   "default",
		Length: 60 * second,
		Events: []lab.Event{
			{Kind: lab.Add, Backend: "10.0.1.11", Address: "10.0.1.11"},
			{At: 10 * second, Kind: lab.Add, Backend: "10.0.1.12", Address: "10.0.1.12"},
			{At: 20 * second, Kind: lab.Reload},
			{At: 30 * second, Kind: lab.Add, Backend: "10.0.1.13", Address: "10.0.1.13"},
			{At: 40 * second, Kind: lab.Remove, Backend: "10.0.1.11", Address: "10.0.1.11", End: lab.Stop},
			{At: 50 * second, Kind: lab.Reload},
		},
	}
	if diff := cmp.Diff(want, timeline); diff != "" {
		t.Errorf("the default script (-want +got):\n%s", diff)
	}
}

func TestBuiltInScriptsRunOnRealProxies(t *testing.T) {
	for _, summary := range script.Names() {
		t.Run(summary.Name, func(t *testing.T) {
			s, ok := script.BuiltIn(summary.Name)
			if !ok || s.Name != summary.Name {
				t.Fatalf("BuiltIn(%q) = %+v, %v", summary.Name, s, ok)
			}
			timeline, err := s.Timeline(0)
			if err != nil || timeline.Length != lab.Moment(time.Minute) {
				t.Fatalf("its timeline takes %v, %v", timeline.Length.Seconds(), err)
			}
			if err := s.CheckReal(timeline); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoOtherBuiltIn(t *testing.T) {
	for _, name := range []string{"", "nope", "../builtin", "default.yaml"} {
		if _, ok := script.BuiltIn(name); ok {
			t.Errorf("there is a built-in script %q", name)
		}
	}
}

func TestBuiltInTextIsItsScript(t *testing.T) {
	text, ok := script.Text("node-loss")
	if !ok || !strings.Contains(string(text), "\nsteps:\n") {
		t.Fatalf("Text = %q, %v", text, ok)
	}
}

func TestBuiltInSaysWhatItNeeds(t *testing.T) {
	s, _ := script.BuiltIn("rolling-update")
	_, err := s.Timeline(time.Second)
	want := "built-in rolling-update: duration 1s: the run ends before its steps do; they take 5s in all, so run for 5s or more, or shorten them"
	if said(err) != want {
		t.Errorf("Timeline(1s): %v\nwant %s", err, want)
	}
}
