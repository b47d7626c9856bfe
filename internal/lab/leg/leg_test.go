package leg

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// A leg from its start to its end, by hand.
func TestALeg(t *testing.T) {
	var log bytes.Buffer
	l, err := Start(t.Context(), order(t, "nginx"), &log)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(l.Ready(), l.Go()); err != nil {
		t.Fatal(err)
	}
	got, err := l.Result()
	if err != nil {
		t.Fatal(err)
	}
	whole(t, got)
	if again, err := l.Result(); err != nil || !reflect.DeepEqual(got, again) {
		t.Errorf("asked again: %+v %v", again, err)
	}
	l.Close()
	l.Close()
	nobody(t)
	if log.Len() > 0 {
		t.Errorf("it wrote %s", log.String())
	}
}

// whole checks the result of a run that nothing disturbed.
func whole(t *testing.T, p lab.Proxy) {
	t.Helper()
	if p.Failed != "" || p.Requests == nil {
		t.Fatalf("failed: %q, requests %v", p.Failed, p.Requests)
	}
	if p.Name != "nginx:own" || p.Model != lab.ModelReload || p.Requests.Due != lab.Due(50, length) || p.Requests.Answered == 0 || len(p.Truth) != 1 {
		t.Errorf("%s %s: %d requests, %d answered, truth %v", p.Name, p.Model, p.Requests.Due, p.Requests.Answered, p.Truth)
	}
}

// A leg that is closed in the middle has no result, and leaves nobody.
func TestALegThatIsClosed(t *testing.T) {
	l, err := Start(t.Context(), order(t, "nginx"), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Ready(), l.Go()); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := l.Result(); err == nil {
		t.Error("it has a result")
	}
	nobody(t)
}

// Legs that fail in all possible ways are results like others, each in its place, and
// hold back none that goes on.
func TestLegsThatFailBesideOthers(t *testing.T) {
	absent := order(t, "nginx")
	absent.Plan.Name, absent.Gatehouse = "absent", "/nowhere/gatehouse"
	broken := order(t, "nginx")
	broken.Plan.Name, broken.Program = "broken", "/nowhere/nginx"
	orders := []Order{absent, broken, order(t, "nginx"), order(t, "unknown"), order(t, talksNonsense), order(t, diesBeforeReady), order(t, diesInTheRun), order(t, diesInSilence)}
	began := 0
	var log bytes.Buffer
	got, err := RunAll(t.Context(), orders, &log, func() { began++ })
	if err != nil || began != 1 || len(got) != len(orders) {
		t.Fatalf("error %v, %d beginnings, %d results", err, began, len(got))
	}
	for i, want := range []string{
		"start a leg: fork/exec /nowhere/gatehouse: no such file or directory", "/nowhere/nginx", "",
		`no proxy is called "unknown"`, `the leg says "hello", which is no word of a leg`, "the leg ended: no room today", "the leg ended: the roof came down",
		"the leg ended without a result: exit status 4",
	} {
		p := got[i]
		if p.Name != orders[i].Plan.Name || p.Model != lab.ModelReload {
			t.Errorf("result %d is that of %s, %s, want %s", i, p.Name, p.Model, orders[i].Plan.Name)
		}
		if want == "" {
			whole(t, p)
		} else if !strings.Contains(p.Failed, want) || strings.Contains(p.Failed, "\n") {
			t.Errorf("%s failed: %q, want one line with %q", p.Name, p.Failed, want)
		}
	}
	if !strings.Contains(log.String(), "much to say\nno room today\n") || !strings.Contains(log.String(), "the roof came down\n") {
		t.Errorf("log: %s", log.String())
	}
	nobody(t)
}

// When the parent's context ends, so do all legs, whatever they do.
func TestLegsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("somebody pressed Ctrl-C")
	long := order(t, "nginx")
	long.Plan.Timeline.Length *= 1000
	got, err := RunAll(ctx, []Order{long, long}, &bytes.Buffer{}, func() { cancel(cause) })
	if !errors.Is(err, cause) || len(got) != 2 {
		t.Errorf("error %v, %d results", err, len(got))
	}
	for _, p := range got {
		if p.Failed == "" {
			t.Error("a leg has a result")
		}
	}
	nobody(t)
}

// nobody checks that this process has no children: with a leg, the first of its
// namespace, ends all that it started.
func nobody(t *testing.T) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Fatal("the kernel does not tell children", err)
	}
	for _, list := range lists {
		if children, err := os.ReadFile(list); err == nil && len(children) > 0 {
			t.Errorf("children are left: %s", children)
		}
	}
}
