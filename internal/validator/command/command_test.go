package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

func TestVerdicts(t *testing.T) {
	refusal := func(r validator.Refusal) validator.Verdict {
		return validator.Verdict{Refusals: []validator.Refusal{r}}
	}
	for _, test := range []struct {
		name, lines string
		want        validator.Verdict
	}{
		{"accepts", `echo "what it says does not matter"`, validator.Verdict{}},
		{
			"names an object", `echo '{"errors":[{"object":{"kind":"HTTPRoute","name":"shop/cart"},"field":"spec.hostnames[0]","message":"no"}]}'; exit 1`,
			refusal(validator.Refusal{Objects: []store.Key{{Collection: "HTTPRoute", Name: "shop/cart"}}, Field: "spec.hostnames[0]", Message: "no"}),
		},
		{
			"names a resource", `echo '{"errors":[{"resource":{"type":"RouteConfiguration","name":"cart","group":"shop/edge"},"message":"no"}]}'; exit 1`,
			refusal(validator.Refusal{Resources: []xdsserve.Scoped{{Group: "shop/edge", Name: xdsserve.Name{Type: xdsserve.Routes, Name: "cart"}}}, Message: "no"}),
		},
		{"names nothing", `echo '{"errors":[{"message":"no"}]}'; exit 1`, refusal(validator.Refusal{Message: "no"})},
		{"says nothing", `echo '{"errors":[{}]}'; exit 1`, refusal(validator.Refusal{Message: "it says nothing about why"})},
		{
			"says lines and colours", `printf '{"errors":[{"message":"one\\ntwo\\u001b[31m  three"}]}'; exit 1`,
			refusal(validator.Refusal{Message: "one two [31m three"}),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := New(options(t, script(t, test.lines)))
			got := v.Validate(t.Context(), viewOf(table(t, "cart", "a.test")).from(nil))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever a program does but accept or refuse in the form agreed says nothing about
// the candidate: the verdict is unavailable and tells why.
func TestProgramsThatGiveNoVerdict(t *testing.T) {
	for _, test := range []struct{ name, lines, want string }{
		{"hangs", `while :; do sleep 100; done`, "gave no verdict within 300ms; make it quicker or its timeout longer"},
		{"hangs and says why", `echo waiting for a server >&2; sleep 100`, "gave no verdict within 2s; make it quicker or its timeout longer: waiting for a server"},
		{"hangs deaf", `trap '' TERM INT HUP; while :; do sleep 100; done`, "gave no verdict within 300ms"},
		{"writes without end", `yes`, "gave no verdict within 300ms"},
		{"refuses at length", `head -c 2000000 /dev/zero; exit 1`, "its report is longer than 1048576 bytes"},
		{"refuses in words", `echo "line 3 is bad"; echo oops >&2; exit 1`, `it refuses, and its output is no {"errors": […]}: invalid character 'l' looking for beginning of value: oops`},
		{"refuses in silence", `exit 1`, `it refuses, and its output is no {"errors": […]}: EOF`},
		{"refuses for no reason", `echo '{"errors":[]}'; exit 1`, "it refuses for no reason: its report has no errors"},
		{"misspells a field", `echo '{"errors":[{"mesage":"no"}]}'; exit 1`, `json: unknown field "mesage"`},
		{"writes after the report", `echo '{"errors":[{"message":"no"}]} {}'; exit 1`, "something follows the report"},
		{"names an unknown type", `echo '{"errors":[{"resource":{"type":"Route","name":"x"}}]}'; exit 1`, `its report is not understood: resource.type "Route" is none of Secret, Cluster, `},
		{"names an object without a kind", `echo '{"errors":[{"object":{"name":"shop/cart"}}]}'; exit 1`, "its report is not understood: an object needs kind and name"},
		{"fails", `echo one >&2; echo two >&2; exit 2`, "ended with exit status 2 instead of 0 or 1: two"},
		{"is killed", `kill -9 $$`, "ended with signal: killed instead of 0 or 1"},
		{"crashes", `kill -SEGV $$`, "ended with signal: segmentation fault instead of 0 or 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options(t, script(t, test.lines))
			switch {
			case strings.Contains(test.want, "within 2s"):
				o.Timeout = 2 * time.Second // it has time to speak
			case strings.Contains(test.want, "within"):
				o.Timeout = 300 * time.Millisecond
			}
			got := New(o).Validate(t.Context(), viewOf(table(t, "cart", "a.test")).from(nil))
			if len(got.Refusals) > 0 || !strings.Contains(got.Unavailable, test.want) || strings.Contains(got.Unavailable, "\n") {
				t.Errorf("verdict %+v, want unavailable: %s", got, test.want)
			}
		})
	}
}

// A program that cannot be started is unavailable until it can.
func TestProgramsThatCannotBeStarted(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(path string) error
		want  string
	}{
		"removed":        {os.Remove, "no such file or directory"},
		"not executable": {func(path string) error { return os.Chmod(path, 0o600) }, "permission denied"},
		"no program":     {func(path string) error { return os.WriteFile(path, []byte("\x00"), 0o700) }, "exec format error"},
		"no interpreter": {func(path string) error { return os.WriteFile(path, []byte("#!/nowhere/sh\n"), 0o700) }, "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			path := script(t, "exit 0")
			v := New(options(t, path))
			one := viewOf(table(t, "cart", "a.test"))
			two := viewOf(table(t, "cart", "b.test"))
			if got := v.Validate(t.Context(), one.from(nil)); got.Unavailable != "" {
				t.Fatal(got.Unavailable)
			}
			if err := test.spoil(path); err != nil {
				t.Fatal(err)
			}
			got := v.Validate(t.Context(), two.from(one))
			if want := path + " cannot be started: " + test.want + "; put it back as an executable file"; got.Unavailable != want {
				t.Errorf("unavailable: %s\nwant %s", got.Unavailable, want)
			}
			if err := os.Rename(script(t, "exit 0"), path); err != nil {
				t.Fatal(err)
			}
			if got := v.Validate(t.Context(), two.from(one)); got.Unavailable != "" || len(got.Refusals) > 0 {
				t.Errorf("put back: %+v", got)
			}
		})
	}
}

// No shell reads the command, and nothing of our environment reaches the program.
func TestCommandAndEnvironmentAreAsDocumented(t *testing.T) {
	t.Setenv("HUNTER", "2")
	v := New(options(t, "/usr/bin/env"))
	if got := v.Validate(t.Context(), viewOf().from(nil)); got.Unavailable != "" {
		t.Fatal(got.Unavailable)
	}
	out, err := v.execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "PATH=" + searchPath + "\nGATEHOUSE_CANDIDATE=" + v.files.candidate() + "\nGATEHOUSE_DELTA=" + v.files.delta() + "\n"
	if got := string(out.stdout); !strings.HasPrefix(got, want) || strings.Contains(got, "HUNTER") || strings.Count(got, "\n") > 4 { // exec adds PWD
		t.Errorf("environment:\n%swant\n%s", got, want)
	}
	o := options(t, script(t, `printf '{"errors":[{"message":"%s"}]}' "$*"; exit 1`), "$HOME;", "`id`", "*")
	got := New(o).Validate(t.Context(), viewOf().from(nil))
	if len(got.Refusals) != 1 || got.Refusals[0].Message != "$HOME; `id` *" {
		t.Errorf("arguments: %+v", got)
	}
}

// Children are killed with the program, whether it ended or was killed.
func TestChildrenDieWithTheProgram(t *testing.T) {
	for name, end := range map[string]string{"ended": "exit 0", "killed": "wait"} {
		t.Run(name, func(t *testing.T) {
			note := filepath.Join(t.TempDir(), "child")
			v := New(options(t, script(t, `sleep 1000 & echo $! > "$1.new"; mv "$1.new" "$1"; `+end), note))
			ctx := t.Context()
			if end == "wait" {
				ctx = untilThere(t, note)
			}
			got := v.Validate(ctx, viewOf(table(t, "cart", "a.test")).from(nil))
			if (got.Unavailable == "") != (end == "exit 0") {
				t.Fatalf("verdict %+v", got)
			}
			child, err := os.ReadFile(note)
			if err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, strings.TrimSpace(string(child)))
		})
	}
}

// awaitEnd waits until a process is no more, or a corpse.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if _, after, ok := strings.Cut(string(stat), ") "); err != nil || ok && after[0] == 'Z' {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s lives: %s", pid, stat)
		}
		time.Sleep(time.Millisecond)
	}
}

// untilThere is a context that ends once there is a file.
func untilThere(t *testing.T, path string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		defer cancel()
		for _, err := os.Stat(path); err != nil && t.Context().Err() == nil; _, err = os.Stat(path) {
			time.Sleep(time.Millisecond)
		}
	})
	t.Cleanup(waiting.Wait)
	return ctx
}

func TestCalledOff(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	v := New(options(t, script(t, `: > "$1"; sleep 1000`), started))
	got := v.Validate(untilThere(t, started), viewOf(table(t, "cart", "a.test")).from(nil))
	if !strings.HasSuffix(got.Unavailable, "was called off") {
		t.Errorf("verdict %+v", got)
	}
}

// A program that refuses everything names its reason each time and leaves the files as
// they were before.
func TestRefusesEverything(t *testing.T) {
	v := New(options(t, script(t, `echo '{"errors":[{"message":"never"}]}'; exit 1`)))
	for _, next := range []view{viewOf(), viewOf(table(t, "cart", "a.test")), viewOf(table(t, "cart", "b.test"))} {
		got := v.Validate(t.Context(), next.from(nil))
		if len(got.Refusals) != 1 || got.Refusals[0].Message != "never" || len(v.files.seen(t)) > 0 {
			t.Errorf("verdict %+v, files %v", got, names(v.files.seen(t)))
		}
	}
}
