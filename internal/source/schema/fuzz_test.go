package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// seeds adds every document that other tests use.
func seeds(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no goldens: %v", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range txtar.Parse(raw).Files {
			f.Add(section.Data)
		}
	}
	for _, content := range exampleFiles(f) {
		f.Add(content)
	}
	for _, s := range []string{
		"", "---", "--- a", "...", "{", "{}{}", `{"a":1}{"b":`, "a: &a [*a]", "<<: 1", "a: b: c", "? a", "!!map {}", "%YAML 1.2\n---\n", "\xff", "\x00",
		"kind: List\nitems: [null]", "a: 0x1p-2", "a: 1_000", "a: 0o7", "a: 07", "a: 1e400", "- - - -", "\ufeffa: b", "a: |\n  ---\n  b", "a:\r\n  b: c\r\n---\r\nd: e", "'", "\"\\ud800\"", "a: 2001-01-01",
	} {
		f.Add([]byte(s))
	}
}

// FuzzDecode checks that any input gives objects or explained refusals.
func FuzzDecode(f *testing.F) {
	seeds(f)
	v := New(Options{Open: func(s snapshot.Feature) bool { return s == snapshot.FeatureXBackend }})
	f.Fuzz(func(t *testing.T, file []byte) {
		lines := bytes.Count(file, []byte("\n")) + 1
		for i, doc := range Split(file) {
			if doc.Number != i+1 || doc.Line < 1 || doc.Line > lines {
				t.Fatalf("document %d: number %d, line %d of %d", i, doc.Number, doc.Line, lines)
			}
			for _, o := range v.Decode(doc, nil) {
				checkObject(t, o, lines)
			}
		}
	})
}

func checkObject(t *testing.T, o Object, lines int) {
	t.Helper()
	if (o.Value == nil) == (len(o.Problems) == 0) {
		t.Fatalf("%s: value %v and problems %v", o.Key, o.Value, o.Problems)
	}
	for _, p := range o.Problems {
		if p.Message == "" || strings.ContainsAny(p.Message, "\n\r") || p.Line < 1 || p.Line > lines || p.Reason.Name == "" {
			t.Fatalf("%s: bad problem %+v in %d lines", o.Key, p, lines)
		}
	}
	if o.Value != nil {
		if o.Key.Name != snapshot.NamespacedName(o.Value.GetNamespace(), o.Value.GetName()) || o.Value.GetUID() == "" || o.Content == "" || o.Spec == "" {
			t.Fatalf("%s: incomplete %+v", o.Key, o)
		}
	}
}

// bareTag is the tag "!", which makes anything a string and which our YAML library
// does not tell; no tool writes it.
var bareTag = regexp.MustCompile(`!(\s|$)`)

// FuzzParse compares what a document means with what kubectl's parser makes of it.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, doc := range Split(file) {
			root, err := parse(doc)
			if err != nil || bareTag.Match(doc.Text) {
				continue
			}
			raw, err := yaml.YAMLToJSONStrict(doc.Text)
			if err != nil {
				continue
			}
			var want any
			if err := json.Unmarshal(raw, &want); err != nil {
				continue
			}
			ours, err := json.Marshal(root.plain())
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := json.Unmarshal(ours, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q\nmeans %s\nto kubectl %s", doc.Text, ours, raw)
			}
		}
	})
}
