package script_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check fails unless a timeline keeps what the package promises.
func check(t failer, timeline lab.Timeline) {
	t.Helper()
	var now lab.Moment
	present, lost := map[string]bool{}, map[string]bool{}
	addresses := map[string]string{}
	for i, e := range timeline.Events {
		if e.At < now || e.At > timeline.Length || e.Grace < 0 {
			t.Fatalf("event %d is at %v after %v of %v: %+v", i, e.At, now, timeline.Length, e)
		}
		now = e.At
		if owner, ok := addresses[e.Address]; ok && owner != e.Backend {
			t.Fatalf("event %d: %s has the address of %s: %+v", i, e.Backend, owner, e)
		}
		addresses[e.Address] = e.Backend
		switch {
		case e.Kind == lab.Add && present[e.Backend],
			(e.Kind == lab.Remove || e.Kind == lab.Lose) && !present[e.Backend],
			e.Kind == lab.Lose && lost[e.Backend]:
			t.Fatalf("event %d contradicts those before: %+v", i, e)
		case e.Kind == lab.Add:
			present[e.Backend] = true
		case e.Kind == lab.Lose:
			lost[e.Backend] = true
		case e.Kind == lab.Remove:
			delete(present, e.Backend)
			delete(lost, e.Backend)
		}
	}
}

// generated draws a script that is right: it keeps what is there as it writes.
type generated struct {
	*rapid.T
	text   strings.Builder
	groups int
	there  []string
}

func (g *generated) time(label string) string {
	return (time.Duration(rapid.IntRange(0, 5000).Draw(g.T, label)) * time.Millisecond).String()
}

func (g *generated) line(format string, args ...any) { fmt.Fprintf(&g.text, "- "+format+"\n", args...) }

// group adds a new group of backends and returns its name and size.
func (g *generated) group() (string, int) {
	g.groups++
	name, size := fmt.Sprintf("g%d", g.groups), rapid.IntRange(1, 6).Draw(g.T, "size")
	g.line("scale: {name: %s, to: %d, over: %s}", name, size, g.time("over"))
	return name, size
}

func (g *generated) step() {
	switch rapid.IntRange(0, 6).Draw(g.T, "step") {
	case 0:
		name, _ := g.group()
		g.there = append(g.there, name+"-1")
	case 1:
		name, size := g.group()
		g.line("rolling-update: {from: %s, to: %snew, pods: %d, surge: %d, ready: %s, drain: %s}", name, name, size,
			rapid.IntRange(1, size).Draw(g.T, "surge"), g.time("ready"), g.time("drain"))
	case 2:
		name, size := g.group()
		g.line("scale: {name: %s, from: %d, to: %d, over: %s, grace: %s}", name, size, size-1, g.time("over"), g.time("grace"))
	case 3:
		name, _ := g.group()
		g.line("node-loss: {backends: %s-1, notice: %s}", name, g.time("notice"))
		g.line("add: %s-1", name)
	case 4:
		g.line("pause: %s", g.time("pause"))
	case 5:
		g.line("reload")
	case 6:
		if len(g.there) > 0 {
			g.line("{remove: {backends: %s, grace: %s}}", g.there[0], g.time("grace"))
			g.there = g.there[1:]
		}
	}
}

func TestTimelinesKeepTheirPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &generated{T: t}
		if rapid.Bool().Draw(t, "every") {
			fmt.Fprintf(&g.text, "every: %s\n", g.time("gap"))
		}
		g.text.WriteString("steps:\n- add: first\n")
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			g.step()
		}
		s, err := script.Parse("f.yaml", []byte(g.text.String()))
		if err != nil {
			t.Fatalf("%v\n%s", err, g.text.String())
		}
		timeline, err := s.Timeline(0)
		if err != nil {
			t.Fatalf("%v\n%s", err, g.text.String())
		}
		check(t, timeline)
		longer, err := s.Timeline(time.Hour)
		if err != nil || len(longer.Events) != len(timeline.Events) || longer.Length != lab.Moment(time.Hour) {
			t.Fatalf("over an hour: %d events of %d, error: %v", len(longer.Events), len(timeline.Events), err)
		}
		check(t, longer)
	})
}

func TestShortestDurationIsEnough(t *testing.T) {
	s, err := script.Parse("f.yaml", []byte("every: 2s\nsteps:\n- add: a\n- scale: {name: b, to: 3, over: 3s}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Timeline(7 * time.Second); err != nil {
		t.Error(err)
	}
	if _, err := s.Timeline(7*time.Second - 1); err == nil {
		t.Error("a duration that is a nanosecond too short is accepted")
	}
}
