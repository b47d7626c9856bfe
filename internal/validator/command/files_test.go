package command

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Law: whatever was accepted, refused and lost before, the program sees the candidate,
// afterwards the files hold what was accepted, and delta.json says what differs.
func TestFilesAreTheCandidate(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		v := New(options(t, "/bin/true"))
		defer os.RemoveAll(v.Dir)
		accepted := viewOf()
		for range rapid.IntRange(1, 8).Draw(draw, "steps") {
			next := drawView(t, draw)
			c := next.from(accepted)
			if err := v.files.apply(c); err != nil {
				draw.Fatal(err)
			}
			if diff := cmp.Diff(next.names(), names(v.files.seen(t))); diff != "" {
				draw.Fatalf("candidate (-want +got):\n%s", diff)
			}
			told(t, v.files, c.Delta)
			switch rapid.SampledFrom([]string{"accept", "refuse", "lose"}).Draw(draw, "then") {
			case "accept":
				accepted = next
			case "refuse":
				v.files.undo(c)
			case "lose":
				accepted = next
				_ = os.RemoveAll(v.files.candidate())
			}
		}
	})
}

func drawView(t *testing.T, draw *rapid.T) view {
	all := viewOf()
	for _, name := range []string{"a", "b", "../c"} {
		if host := rapid.SampledFrom([]string{"", "x.test", "y.test"}).Draw(draw, name); host != "" {
			r := table(t, name, host)
			all[xdsserve.Scoped{Group: r.Group, Name: r.Name}] = r
		}
	}
	return all
}

// told checks delta.json.
func told(t *testing.T, f *files, want xdsserve.Update) {
	t.Helper()
	text, err := os.ReadFile(f.delta())
	var got difference
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err != nil || len(got.Set) != len(want.Set) || len(got.Removed) != len(want.Remove) {
		t.Errorf("delta.json %s, want %d set and %d removed (error: %v)", text, len(want.Set), len(want.Remove), err)
	}
	for _, path := range got.Set {
		if _, err := os.Stat(filepath.Join(f.candidate(), path)); err != nil {
			t.Error(err)
		}
	}
}

// A change costs its own size: among a hundred tables one is written, and one again to
// take a refused one back.
func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	o := options(t, script(t, `if grep -q bad.test "$GATEHOUSE_CANDIDATE"/*/*; then echo '{"errors":[{"message":"no"}]}'; exit 1; fi`))
	written := 0
	o.Render = func(r xdsserve.Resource, secrets bool) (json.RawMessage, error) {
		written++
		return envoy.JSON(r, secrets)
	}
	v := New(o)
	accepted, next, bad := viewOf(), viewOf(), viewOf()
	for i := range 100 {
		name := fmt.Sprintf("t%d", i)
		for all, host := range map[*view]string{&accepted: "a.test", &next: "b.test", &bad: "bad.test"} {
			if i > 0 {
				host = "a.test"
			}
			r := table(t, name, host)
			(*all)[xdsserve.Scoped{Group: r.Group, Name: r.Name}] = r
		}
	}
	for _, step := range []struct {
		from, to       view
		refused, wants int
	}{{viewOf(), accepted, 0, 100}, {accepted, bad, 1, 2}, {accepted, next, 0, 1}} {
		written = 0
		got := v.Validate(t.Context(), step.to.from(step.from))
		if got.Unavailable != "" || len(got.Refusals) != step.refused || written != step.wants {
			t.Errorf("%+v, %d written, want %d", got, written, step.wants)
		}
	}
}

// Private keys are seen only by programs that are given them; nobody else reads any file.
func TestPrivateKeysAreRedacted(t *testing.T) {
	for _, secrets := range []bool{false, true} {
		o := options(t, "/bin/true")
		o.Secrets = secrets
		v := New(o)
		if got := v.Validate(t.Context(), viewOf(secret(t, "hunter2"), table(t, "cart", "a.test")).from(nil)); got.Unavailable != "" {
			t.Fatal(got.Unavailable)
		}
		if shown := strings.Contains(contents(t, v.Dir), "hunter2"); shown != secrets {
			t.Errorf("secrets: %t, and the key is shown: %t", secrets, shown)
		}
	}
}

// contents are the texts of all files, which only we may read.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// Names are free text; no name leads out of the directory or onto another's file.
func TestNamesLeadNowhereElse(t *testing.T) {
	v := New(options(t, "/bin/true"))
	all := viewOf()
	for _, name := range []string{"../../../out", "/etc/passwd", "a/b", "a\x00b", "", ".", "..", strings.Repeat("long", 200), "A", "a"} {
		r := resourceOf(t, xdsserve.Routes, name, &envoy_route_v3.RouteConfiguration{Name: name}, "HTTPRoute shop/a")
		all[xdsserve.Scoped{Group: r.Group, Name: r.Name}] = r
	}
	if got := v.Validate(t.Context(), all.from(nil)); got.Unavailable != "" {
		t.Fatal(got.Unavailable)
	}
	if diff := cmp.Diff(all.names(), names(v.files.seen(t))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	outside, err := filepath.Glob(filepath.Join(v.Dir, "*"))
	if err != nil || len(outside) != 2 {
		t.Errorf("beside the candidate: %v (error: %v)", outside, err)
	}
}
