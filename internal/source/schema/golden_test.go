package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Each file of testdata has documents and, for each object in them, either its
// line and "ok" or its problems: line, reason, field and message. What stands in
// before.yaml has been accepted earlier; the section features lists open switches.
func TestGoldens(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", func(t *testing.T, f *golden.File) {
		features, _ := f.Section("features")
		v := New(Options{Open: func(s snapshot.Feature) bool { return strings.Contains(string(features), string(s)) }})
		accepted := map[store.Key]snapshot.Object{}
		before, _ := f.Section("before.yaml")
		for _, o := range decodeAll(v, before, nil) {
			if o.Value == nil {
				t.Fatalf("before.yaml has a bad object: %+v", o.Problems)
			}
			accepted[o.Key] = o.Value
		}
		var out strings.Builder
		for _, o := range decodeAll(v, f.Input("input.yaml"), func(k store.Key) snapshot.Object { return accepted[k] }) {
			describe(&out, o)
		}
		f.Check("want", []byte(out.String()))
	})
}

func decodeAll(v *Validator, file []byte, previous Previous) (out []Object) {
	for _, doc := range Split(file) {
		out = append(out, v.Decode(doc, previous)...)
	}
	return out
}

func describe(out *strings.Builder, o Object) {
	fmt.Fprintf(out, "%d %s", o.Line, strings.TrimSpace(o.Key.String()))
	if o.Value != nil {
		out.WriteString(" ok")
	}
	out.WriteByte('\n')
	for _, p := range o.Problems {
		fmt.Fprintf(out, "    %d %s %s: %s\n", p.Line, p.Reason.Name, p.Field, p.Message)
	}
}
