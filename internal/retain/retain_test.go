package retain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

func open(t *testing.T, dir string) (*Store, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	s := Open(Options{
		Dir: dir, Validator: schema.New(schema.Options{Open: func(snapshot.Feature) bool { return true }}),
		Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: observe.NewMetrics(),
	})
	return s, log
}

// objects decodes a text as a source does, with generation and age.
func objects(t *testing.T, s *Store, text string) []Revision {
	t.Helper()
	var out []Revision
	for _, doc := range schema.Split([]byte(text)) {
		for _, o := range s.Validator.Decode(doc, nil) {
			if o.Value != nil {
				o.Value.SetGeneration(7)
				out = append(out, Revision{Key: o.Key, Object: o.Value, File: "a.yaml", Accepted: time.Unix(1000, 0)})
			}
		}
	}
	return out
}

func configMap(t *testing.T, s *Store, name, value string) Revision {
	t.Helper()
	return objects(t, s, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {v: %q}\n", name, value))[0]
}

// TestWhatIsKeptComesBack: "what is read back is an input": every object of the
// examples and scenarios is valid when it is read back, and the same.
func TestWhatIsKeptComesBack(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	var want []Revision
	files, err := filepath.Glob("../../test/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios, %v", err)
	}
	seen := map[store.Key]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n-- ") {
			name, body, _ := strings.Cut(part, "\n")
			if !strings.Contains(name, ".yaml") {
				continue
			}
			for _, r := range objects(t, s, body) {
				if !seen[r.Key] {
					seen[r.Key] = true
					want = append(want, r)
				}
			}
		}
	}
	s.Keep(t.Context(), false, want...)
	if !s.write() || len(want) < 100 {
		t.Fatalf("%d objects not written", len(want))
	}
	next, log := open(t, dir)
	for _, r := range want {
		got, ok := next.Revision(r.Key)
		if diff := cmp.Diff(text(t, r.Object), text(t, got.Value)); !ok || diff != "" {
			t.Errorf("%s (-kept +read):\n%s%s", r.Key, diff, log)
		}
	}
}

func text(t *testing.T, o any) string {
	t.Helper()
	b, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRecalledIsDecodedOnlyWhereItDiffers: what is observed as it was accepted keeps
// its place; a changed, a new and a deleted object are as they were.
func TestRecalledIsDecodedOnlyWhereItDiffers(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	same, changed, gone := configMap(t, s, "same", "1"), configMap(t, s, "changed", "1"), configMap(t, s, "gone", "1")
	s.Keep(t.Context(), false, same, changed, gone)
	s.write()
	next, _ := open(t, dir)
	observed := store.View{}.Apply(
		store.Edit{Key: same.Key, Value: same.Object}, store.Edit{Key: changed.Key, Value: configMap(t, s, "changed", "2").Object},
		store.Edit{Key: configMap(t, s, "new", "1").Key, Value: configMap(t, s, "new", "1").Object},
		store.Edit{Collection: "no object", Name: "x", Value: 1})

	view, ok := next.Recalled(observed)

	if got, _ := view.Get(same.Key); !ok || !store.Identical(got, same.Object) {
		t.Errorf("what is the same was decoded: %v", got)
	}
	got := map[string]string{}
	for c := range store.Diff(store.View{}, view) {
		if o, is := c.New.(snapshot.Object); is {
			got[c.Name] = text(t, o)
		} else {
			got[c.Name] = fmt.Sprint(c.New)
		}
	}
	want := map[string]string{"x": "1"}
	for _, r := range []Revision{same, changed, gone} {
		want[r.Key.Name] = text(t, r.Object)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recalled (-want +got):\n%s", diff)
	}
	if _, some := func() (store.View, bool) { n, _ := open(t, t.TempDir()); return n.Recalled(observed) }(); some {
		t.Error("something is recalled where nothing was kept")
	}
}

// TestForgets: what is deleted, or not in the view of a start, does not come back; the
// time of acceptance stays while the content does, and a rejection has its time.
func TestForgets(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	a, b, c := configMap(t, s, "a", "1"), configMap(t, s, "b", "1"), configMap(t, s, "c", "1")
	s.Keep(t.Context(), false, a, b, c)
	s.write()
	later := a
	later.Accepted, later.Rejected, later.File = time.Unix(2000, 0), time.Unix(3000, 0), "b.yaml"
	s.Keep(t.Context(), false, later, Revision{Key: b.Key})
	s.Only(store.View{}.Apply(store.Edit{Key: a.Key, Value: a.Object}))
	s.write()
	next, _ := open(t, dir)
	if keys := next.In(func(file string) bool { return file == "b.yaml" }); len(keys) != 1 || keys[0] != a.Key || len(next.known) != 1 {
		t.Errorf("kept %v, of the file %v", next.known, keys)
	}
	if accepted, rejected := next.Times(a.Key); accepted.Unix() != 1000 || rejected.Unix() != 3000 {
		t.Errorf("accepted %v, rejected %v", accepted, rejected)
	}
}

// TestNoLongerValid: a kind that is switched off now is not recalled.
func TestNoLongerValid(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	r := objects(t, s, "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XMesh\nmetadata: {name: m}\nspec: {controllerName: example.com/x}\n")
	if len(r) != 1 {
		t.Fatal("no XMesh")
	}
	s.Keep(t.Context(), false, r...)
	s.write()
	next, log := open(t, dir)
	next.Validator = schema.New(schema.Options{})
	if _, ok := next.Revision(r[0].Key); ok || !strings.Contains(log.String(), "of no use") {
		t.Errorf("recalled %v, log %s", ok, log)
	}
}

// TestFullDiskStopsNothing: Keep returns, the log says it once, and what could not be
// written is as soon as there is room.
func TestFullDiskStopsNothing(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("mount a small tmpfs (the tests run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	s, log := open(t, dir)
	s.Keep(t.Context(), false, configMap(t, s, "a", "1"))
	s.write()
	filler := filepath.Join(dir, "filler")
	_ = os.WriteFile(filler, make([]byte, 64<<10), 0o600) // until it is full
	big := configMap(t, s, "a", strings.Repeat("x", 30<<10))
	for range 3 {
		s.Keep(t.Context(), false, big)
		if s.write() {
			t.Fatal("written to a full disk")
		}
	}
	if n := strings.Count(log.String(), "cannot be saved"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if !s.write() || !strings.Contains(log.String(), "saved again") {
		t.Errorf("not written with room again:\n%s", log)
	}
	next, _ := open(t, dir)
	if got, ok := next.Revision(big.Key); !ok || text(t, got.Value) != text(t, big.Object) {
		t.Error("the last revision is not there")
	}
}

// TestKeepWaits: until it is on the disk; for a disk that hangs not longer than a
// moment, and only once.
func TestKeepWaits(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	r := configMap(t, s, "a", "1")
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	s.Wait = time.Minute
	s.Keep(t.Context(), true, r)
	next, _ := open(t, dir)
	if _, ok := next.Revision(r.Key); !ok {
		t.Error("it is not on the disk")
	}
	stop()
	running.Wait()
	synctest.Test(t, func(t *testing.T) { // nobody writes any more
		hung, log := open(t, t.TempDir())
		began := time.Now()
		for range 3 {
			hung.Keep(t.Context(), true, r)
		}
		if took := time.Since(began); took != defaultWait || strings.Count(log.String(), "in time") != 1 {
			t.Errorf("waited %v, told\n%s", took, log)
		}
	})
}
