package retain

import (
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// many are revisions of 10,000 routes, and a Store that keeps them.
func many(b *testing.B, dir string) (*Store, []Revision, store.View) {
	b.Helper()
	s := Open(Options{Dir: dir, Validator: schema.New(schema.Options{}), Metrics: observe.NewMetrics()})
	var out []Revision
	var edits []store.Edit
	for i := range 10_000 {
		text := fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%d}
spec: {parentRefs: [{name: edge}], hostnames: ["h%d.example.com"], rules: [{backendRefs: [{name: red, port: 80}]}]}
`, i, i)
		o := s.Validator.Decode(schema.Document{Text: []byte(text), Number: 1, Line: 1}, nil)[0]
		out = append(out, Revision{Key: o.Key, Object: o.Value, File: "a.yaml"})
		edits = append(edits, store.Edit{Key: o.Key, Value: o.Value})
	}
	return s, out, store.View{}.Apply(edits...)
}

// BenchmarkFirstWrite keeps 10,000 routes of which nothing was kept.
func BenchmarkFirstWrite(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s, revisions, _ := many(b, b.TempDir())
		b.StartTimer()
		s.Keep(b.Context(), false, revisions...)
		s.write()
	}
}

// BenchmarkRestart opens what is kept of 10,000 routes, and finds what of it differs
// from what is observed.
func BenchmarkRestart(b *testing.B) {
	dir := b.TempDir()
	s, revisions, view := many(b, dir)
	s.Keep(b.Context(), false, revisions...)
	s.write()
	for name, act := range map[string]func(*Store){
		"Open":     func(*Store) {},
		"Recalled": func(s *Store) { s.Recalled(view) },
		"Again": func(s *Store) {
			s.Keep(b.Context(), false, revisions...)
			s.write()
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				act(Open(Options{Dir: dir, Validator: s.Validator, Metrics: observe.NewMetrics()}))
			}
		})
	}
}

// BenchmarkKeep keeps one changed route among 10,000 and waits for the disk.
func BenchmarkKeep(b *testing.B) {
	s, revisions, _ := many(b, b.TempDir())
	s.Keep(b.Context(), false, revisions...)
	s.write()
	i := 0
	for b.Loop() {
		i++
		r := revisions[7]
		r.File = fmt.Sprint(i)
		s.Keep(b.Context(), false, r)
		s.write()
	}
}
