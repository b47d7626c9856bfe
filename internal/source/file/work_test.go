package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// brokenText is n documents that are refused.
func brokenText(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: r%d\nspec:\n  rules:\n  - matches:\n    - path: {valu: x}\n---\n", i)
	}
	return b.String()
}

func TestLongFileDelaysNoOther(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	write(t, good, doc("good", "1"))
	s := New(Options{Paths: []string{dir}})
	now := s.opts.Now()
	s.scan(func(string) {}, now, false)
	s.readDue(now)
	s.first(now)

	write(t, bad, brokenText(1000)+doc("last", "1"))
	s.mark(bad, written, now)
	s.readDue(now)
	s.workOn(now)
	write(t, good, doc("good", "2"))
	s.mark(good, written, now)
	s.readDue(now)
	if b := s.batch(now, false); len(s.work) != 1 || len(b.Edits) != 1 || len(b.Findings) != 0 {
		t.Fatalf("while a long file is decoded (%d): %v, %d findings", len(s.work), b.Edits, len(b.Findings))
	}
	for len(s.work) > 0 {
		if b := s.batch(now, false); !isEmpty(b) {
			t.Fatalf("a part of a file is told: %v", b)
		}
		s.workOn(now)
	}
	if b := s.batch(now, false); len(b.Edits) != 1 || len(b.Findings[bad]) != 1000 {
		t.Errorf("when it is decoded: %v, %d findings", b.Edits, len(b.Findings[bad]))
	}
}

func TestObjectMovedIntoALongFileIsNotDeleted(t *testing.T) {
	dir := t.TempDir()
	small, long := filepath.Join(dir, "small.yaml"), filepath.Join(dir, "long.yaml")
	write(t, small, doc("a", "1")+doc("b", "1"))
	w := start(t, Options{Paths: []string{dir}})
	write(t, long, brokenText(3000)+doc("b", "2"))
	write(t, small, doc("a", "1"))
	w.until("the move", func() bool { return w.has("b", "2") })
	if gone := deletions(w); len(gone) > 0 {
		t.Errorf("deleted %v", gone)
	}
	must(t, os.Remove(long))
	w.until("its end", func() bool { return len(w.objects) == 1 && len(w.findings) == 0 })
}

func TestLongFileThatGoesWhileDecoded(t *testing.T) {
	dir := t.TempDir()
	w := start(t, Options{Paths: []string{dir}})
	write(t, filepath.Join(dir, "sub", "long.yaml"), brokenText(2000))
	must(t, os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "renamed")))
	w.until("its findings", func() bool {
		return len(w.findings) == 1 && len(w.findings[filepath.Join(dir, "renamed", "long.yaml")]) == 2000
	})
}
