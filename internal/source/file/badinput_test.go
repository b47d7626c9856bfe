package file

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
)

// badTexts are texts of whole files that are no configuration, with a part of
// the finding that each must give.
func badTexts() map[string][2]string {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	return map[string][2]string{
		"binary":            {"\x7fELF\x02\x01\x01\x00\x00\x00", "InvalidSyntax : byte 0x00: not UTF-8 text"},
		"latin 1":           {"kind: \xe9", "InvalidSyntax : byte 0xe9: not UTF-8 text"},
		"truncated":         {doc("a", "1")[:60] + "'", "ConfigMap default/a"},
		"truncated JSON":    {`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"v":`, "ConfigMap default/a InvalidSyntax : not JSON: the text ends in the middle"},
		"flow nesting":      {"a: " + strings.Repeat("[", 5000), "InvalidSyntax"},
		"balanced nesting":  {"a: " + strings.Repeat("[", 500) + strings.Repeat("]", 500), "LimitExceeded"},
		"JSON nesting":      {`{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}", "LimitExceeded"},
		"block nesting":     {nested(2000), "LimitExceeded"},
		"a million braces":  {strings.Repeat("{", 1<<20), "Invalid"},
		"a million dashes":  {strings.Repeat("- ", 1<<20), "Invalid"},
		"anchors":           {bomb, "LimitExceeded"},
		"anchor in itself":  {"a: &a\n  b: *a\n", "LimitExceeded"},
		"merge bomb":        {mergeBomb(), "LimitExceeded"},
		"large document":    {"a: " + strings.Repeat("x", schema.MaxDocumentBytes), "LimitExceeded : document of"},
		"too many":          {strings.Repeat("a\n---\n", schema.MaxDocuments+1), "LimitExceeded : more than 50000 documents"},
		"list":              {"- a\n- b\n", "NotAnObject : a list is no Kubernetes object"},
		"text":              {"hello world", "NotAnObject : a string is no Kubernetes object"},
		"foreign kind":      {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: apps}\nspec: {}\n", "Deployment apps/d KindNotServed kind: \"Deployment\": Gatehouse does not read this kind"},
		"unknown version":   {"apiVersion: gateway.networking.k8s.io/v2\nkind: HTTPRoute\nmetadata: {name: r}\n", "HTTPRoute default/r VersionNotServed apiVersion: \"gateway.networking.k8s.io/v2\": HTTPRoute is not read in this version; write one of gateway.networking.k8s.io/v1"},
		"unknown directive": {"%FOO\x01 bar\n---\na: b\n", "Invalid"},
	}
}

func nested(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func mergeBomb() string {
	b := "a: &a {k0: 1}\n"
	for i := 1; i < 30; i++ {
		b += fmt.Sprintf("a%d: &a%d {k%d: 1, x: [*a%s, *a%s, *a%s], <<: *a%s}\n", i, i, i, suffix(i-1), suffix(i-1), suffix(i-1), suffix(i-1))
	}
	return b
}

func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprint(i)
}

func TestBadFilesAreRefusedFastBesideGoodOnes(t *testing.T) {
	for name, c := range badTexts() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "bad.yaml"), c[0])
			write(t, filepath.Join(dir, "good.yaml"), doc("good", "1"))
			begin := time.Now()
			b := ReadOnce(Options{Paths: []string{dir}})
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
			if len(b.Edits) != 1 || b.Edits[0].Key != configMap("good") {
				t.Errorf("objects: %v", b.Edits)
			}
			if got := reportOf(b.Findings); !strings.Contains(got, c[1]) || strings.Count(got, "\n") > 1 {
				t.Errorf("want one finding with %q, got:\n%.2000s", c[1], got)
			}
		})
	}
}

func TestTenThousandBrokenDocumentsBesideOneGood(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: r%d\nspec:\n  rules:\n  - matches:\n    - path: {valu: x}\n%s---\n", i, []string{"", " broken: [\n"}[i%2])
	}
	write(t, filepath.Join(dir, "a-bad.yaml"), b.String())
	write(t, filepath.Join(dir, "good.yaml"), doc("good", "1"))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	w := start(t, Options{Paths: []string{dir}})
	took := time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&after)
	w.until("the good one", func() bool { return w.has("good", "1") })
	t.Logf("took %v, %d KiB are kept", took, (after.HeapAlloc-before.HeapAlloc)>>10)
	if n := len(w.findings[filepath.Join(dir, "a-bad.yaml")]); n != 10_000 {
		t.Errorf("%d findings", n)
	}
	if took > time.Minute || after.HeapAlloc-before.HeapAlloc > 100<<20 {
		t.Error("too slow or too large")
	}
	write(t, filepath.Join(dir, "good.yaml"), doc("good", "2"))
	w.until("an edit beside them", func() bool { return w.has("good", "2") })
}
