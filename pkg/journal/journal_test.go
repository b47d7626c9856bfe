package journal_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/journal"
)

const head = "a test 1"

// open reads a file as another process would.
func open(t rapid.TB, path string) (*journal.Journal, map[string]string, error) {
	t.Helper()
	got := map[string]string{}
	j, err := journal.Open(path, journal.Options{Head: head}, func(r journal.Record) { note(got, r) })
	return j, got, err
}

func note(into map[string]string, r journal.Record) {
	if r.Value == nil {
		delete(into, r.Key)
	} else {
		into[r.Key] = string(r.Value)
	}
}

func set(key, value string) journal.Record {
	return journal.Record{Key: key, Value: []byte(value)}
}

func drop(key string) journal.Record { return journal.Record{Key: key} }

// started is a journal with a file that holds nothing.
func started(t rapid.TB, path string) *journal.Journal {
	t.Helper()
	j, _, err := open(t, path)
	if err = errors.Join(err, j.Rewrite(slices.Values([]journal.Record(nil)))); err != nil {
		t.Fatal(err)
	}
	return j
}

func drawRecord(t *rapid.T) journal.Record {
	key := rapid.SampledFrom([]string{"", "a", "b", "a b", `quo"te`, "line\nend", "ü", "\xff", `back\slash`}).Draw(t, "key")
	if rapid.Bool().Draw(t, "drop") {
		return drop(key)
	}
	return set(key, rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "value"))
}

// TestLaws: whatever is appended, compacted and rewritten, another process reads the
// newest value of each key, and so does Read.
func TestLaws(t *testing.T) {
	dir := t.TempDir()
	files := 0
	rapid.Check(t, func(t *rapid.T) {
		files++
		path := filepath.Join(dir, fmt.Sprint(files))
		j, want := started(t, path), map[string]string{}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			var err error
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				err = j.Compact()
			case 1:
				err = j.Rewrite(recordsOf(want))
			default:
				records := rapid.SliceOfN(rapid.Custom(drawRecord), 0, 4).Draw(t, "records")
				for _, r := range records {
					note(want, r)
				}
				err = j.Append(records...)
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, j, path, want)
		}
	})
}

func recordsOf(values map[string]string) func(func(journal.Record) bool) {
	return func(yield func(journal.Record) bool) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if !yield(set(key, values[key])) {
				return
			}
		}
	}
}

// check compares a journal, and what another process reads, with what is wanted.
func check(t rapid.TB, j *journal.Journal, path string, want map[string]string) {
	t.Helper()
	other, got, err := open(t, path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("read %v (-want +got):\n%s", err, diff)
	}
	for _, j := range []*journal.Journal{j, other} {
		if j.Len() != len(want) {
			t.Fatalf("%d keys, want %d", j.Len(), len(want))
		}
		for key, value := range want {
			if raw, err := j.Read(key); err != nil || string(raw) != value {
				t.Fatalf("value of %q is %q, %v, want %q", key, raw, err, value)
			}
		}
	}
}

// TestCutAnywhere: wherever a crash cuts the file off, all whole records are there,
// and the next Rewrite makes the file whole.
func TestCutAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := started(t, path)
	want := []map[string]string{{}}
	for _, r := range []journal.Record{set("a", "1"), set("b", "22"), set("a", "3"), drop("b"), set("c", "")} {
		if err := j.Append(r); err != nil {
			t.Fatal(err)
		}
		next := maps.Clone(want[len(want)-1])
		note(next, r)
		want = append(want, next)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(whole[:size]), "\n")
		expect := want[max(lines-1, 0)]
		j, got, err := open(t, path)
		if diff := cmp.Diff(expect, got); diff != "" || (err != nil) != (lines == 0) {
			t.Fatalf("cut to %d bytes: %v (-want +got):\n%s", size, err, diff)
		}
		torn := size == 0 || whole[size-1] != '\n'
		if err := j.Append(set("new", "x")); errors.Is(err, journal.ErrUnfit) != torn {
			t.Fatalf("cut to %d bytes: append gives %v", size, err)
		}
		expect = maps.Clone(expect)
		expect["new"] = "x"
		if err := j.Rewrite(recordsOf(expect)); err != nil {
			t.Fatal(err)
		}
		check(t, j, path, expect)
	}
}

// TestDamageAnywhere: whichever byte is not as it was written, only its record is lost.
func TestDamageAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := started(t, path)
	want := map[string]string{"a": "1", "b": "2", "c": "3"}
	if err := j.Append(slices.Collect(recordsOf(want))...); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(head) + 1; at < len(whole)-1; at++ {
		spoiled := slices.Clone(whole)
		spoiled[at] ^= 0x20
		if err := os.WriteFile(path, spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		_, got, err := open(t, path)
		lost := 1
		if whole[at] == '\n' {
			lost = 2
		}
		if err == nil || len(got) < len(want)-lost {
			t.Fatalf("byte %d spoiled: %v, %v", at, got, err)
		}
		for key, value := range got {
			if want[key] != value {
				t.Fatalf("byte %d spoiled: %s is %q", at, key, value)
			}
		}
	}
}

// TestLeavesNoEarlierValues: after Compact the bytes of earlier and dropped values are
// not in the file, and nobody else may read it.
func TestLeavesNoEarlierValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := started(t, path)
	if err := errors.Join(j.Append(set("a", "secret-1"), set("b", "secret-2")), j.Append(set("a", "public"), drop("b")), j.Compact()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(raw), "secret") || !strings.Contains(string(raw), "public") {
		t.Errorf("error %v, the file is\n%s", err, raw)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	check(t, j, path, map[string]string{"a": "public"})
}

// TestModeIsMended: a file that others could read is not left so.
func TestModeIsMended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	started(t, path)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := open(t, path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestBounded: a file that would become too long is compacted, and refused when that
// does not help; what was there stays.
func TestBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := journal.Open(path, journal.Options{Head: head, Max: 1000}, nil)
	if err = errors.Join(err, j.Rewrite(recordsOf(map[string]string{"a": "0"}))); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := j.Append(set("a", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() > 1000 {
			t.Fatalf("%d bytes, %v", info.Size(), err)
		}
	}
	if err := j.Append(set("b", strings.Repeat("x", 1000))); !errors.Is(err, journal.ErrFull) {
		t.Errorf("error %v, want that it is full", err)
	}
	check(t, j, path, map[string]string{"a": "199"})
}

// TestWasteful: a file becomes wasteful when it is much longer than what counts in it.
func TestWasteful(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := started(t, path)
	value := strings.Repeat("x", 10_000)
	appended := 0
	for ; !j.Wasteful(); appended++ {
		if appended > 100 {
			t.Fatal("never wasteful")
		}
		if err := j.Append(set("a", value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Compact(); err != nil || j.Wasteful() || appended < 10 {
		t.Errorf("error %v, wasteful %v after %d values", err, j.Wasteful(), appended)
	}
	check(t, j, path, map[string]string{"a": value})
}

// TestNotAsItWasLeft: a file that somebody else changed is not appended to.
func TestNotAsItWasLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	for name, spoil := range map[string]func() error{
		"removed":   func() error { return os.Remove(path) },
		"longer":    func() error { return os.WriteFile(path, []byte(strings.Repeat("x", 1000)), 0o600) },
		"shortened": func() error { return os.Truncate(path, 3) },
	} {
		j := started(t, path)
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := j.Append(set("a", "1")); err == nil {
			t.Errorf("%s: it was appended to", name)
		}
		if err := j.Append(set("a", "1")); !errors.Is(err, journal.ErrUnfit) {
			t.Errorf("%s: error %v, want that it is not fit", name, err)
		}
		if err := j.Rewrite(recordsOf(map[string]string{"a": "1"})); err != nil {
			t.Fatal(err)
		}
		check(t, j, path, map[string]string{"a": "1"})
	}
}

// TestMend: what can still be read stays, what cannot is told, and the file can be
// appended to again.
func TestMend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := started(t, path)
	if err := j.Append(set("a", "1"), set("b", "2")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err = errors.Join(err, os.WriteFile(path, append(whole[:len(whole)-2], "x\ntorn"...), 0o600)); err != nil {
		t.Fatal(err)
	}
	lost, err := j.Mend()
	if err != nil || !slices.Equal(lost, []string{"b"}) {
		t.Errorf("lost %v, %v", lost, err)
	}
	check(t, j, path, map[string]string{"a": "1"})
	if err := errors.Join(os.Remove(path), j.Append(set("c", "3"))); err == nil {
		t.Error("appended to a file that is not there")
	}
	if lost, err := j.Mend(); err != nil || !slices.Equal(lost, []string{"a"}) {
		t.Errorf("lost %v, %v", lost, err)
	}
	if err := j.Append(set("c", "3")); err != nil {
		t.Fatal(err)
	}
	check(t, j, path, map[string]string{"c": "3"})
}

// TestAnotherForm: what begins with another line is not read.
func TestAnotherForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	if err := started(t, path).Append(set("a", "1")); err != nil {
		t.Fatal(err)
	}
	_, err := journal.Open(path, journal.Options{Head: "a test 2"}, func(r journal.Record) { t.Errorf("read %v", r) })
	if err == nil || !strings.Contains(err.Error(), "a test 1") {
		t.Errorf("error %v, want the line that is there", err)
	}
}

// TestValueOfSeveralLines is refused.
func TestValueOfSeveralLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := started(t, path)
	if err := j.Append(set("a", "1\n2")); err == nil {
		t.Error("it was taken")
	}
	check(t, j, path, map[string]string{})
}
