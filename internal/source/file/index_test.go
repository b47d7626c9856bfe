package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// world is an index and all that it has told.
type world struct {
	*index
	last     snapshot.Batch
	objects  map[store.Key]snapshot.Object
	origins  map[store.Key]snapshot.Origin
	findings map[string][]snapshot.Finding
}

func newWorld() *world {
	return &world{
		index:   newIndex(schema.New(schema.Options{}), openLedger("", nil)),
		objects: map[store.Key]snapshot.Object{}, origins: map[store.Key]snapshot.Origin{}, findings: map[string][]snapshot.Finding{},
	}
}

// set gives files their texts and returns those that lack an object now.
func (w *world) set(texts ...text) (lacking []string) {
	for _, t := range texts {
		d, p := draftOf(t.path, w.contents(t.path), t.content)
		if p != nil {
			w.fail(t.path, *p)
			continue
		}
		jobs := make([]*freshDocument, len(d.fresh))
		for i := range d.fresh {
			jobs[i] = &d.fresh[i]
		}
		w.decode(jobs)
		if w.index.put(d) {
			lacking = append(lacking, d.path)
		}
	}
	return lacking
}

func (w *world) tell() snapshot.Batch {
	w.last = w.flush(time.Unix(0, 0))
	apply(w.last, w.objects, w.origins, w.findings)
	return w.last
}

// put sets a file's text, and tells.
func (w *world) put(path, content string) snapshot.Batch {
	w.set(text{path, []byte(content)})
	return w.tell()
}

// values lists "name=value" of all ConfigMaps in force, with generations above 1.
func (w *world) values() string {
	var out []string
	for k, o := range w.objects {
		v := strings.TrimPrefix(k.Name, "default/") + "=" + valueOf(o)
		if o.GetGeneration() > 1 {
			v += fmt.Sprintf("@%d", o.GetGeneration())
		}
		out = append(out, v)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (w *world) expect(t *testing.T, what, values, findings string) {
	t.Helper()
	if got := w.values(); got != values {
		t.Errorf("%s: in force is %q, want %q", what, got, values)
	}
	got := reportOf(w.findings)
	for want := range strings.SplitSeq(findings, "|") {
		if !strings.Contains(got, want) {
			t.Errorf("%s: no finding %q in:\n%s", what, want, got)
		}
	}
	if findings == "" && got != "" {
		t.Errorf("%s: findings:\n%s", what, got)
	}
}

const wrongValue = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  v: 7\n---\n"

func TestOneBadDocumentIsRefusedAlone(t *testing.T) {
	w := newWorld()
	w.put("f", doc("a", "1")+doc("b", "1")+doc("c", "1"))
	w.put("f", doc("a", "2")+wrongValue+doc("c", "2"))
	w.expect(t, "a wrong value", "a=2@2 b=1 c=2@2", `f:13 ConfigMap default/b InvalidValue data[v]: 7: must be of type string, not integer; quote it (retained true)`)

	broken := strings.Replace(wrongValue, "\ndata:", "\ndata", 1)
	w.put("f", doc("a", "2")+broken+doc("c", "2"))
	w.expect(t, "broken YAML", "a=2@2 b=1 c=2@2", `f:12 ConfigMap default/b InvalidSyntax : not YAML: |(retained true)`)

	w.put("f", doc("a", "2")+doc("b", "2")+doc("c", "2"))
	w.expect(t, "repaired", "a=2@2 b=2@2 c=2@2", "")
	w.put("new", wrongValue+doc("d", "1"))
	w.expect(t, "bad elsewhere", "a=2@2 b=2@2 c=2@2 d=1", "new:6 ConfigMap default/b")
}

func TestBadDocumentWithoutIdentityHoldsWhatVanished(t *testing.T) {
	w := newWorld()
	w.put("f", doc("a", "1")+doc("b", "1"))
	lacking := w.set(text{"f", []byte(doc("a", "2") + "kind: ConfigMap\nmetadata: {na\n---\n")})
	w.tell()
	if len(lacking) > 0 {
		t.Errorf("%v would be settled", lacking)
	}
	w.expect(t, "unreadable identity", "a=2@2 b=1", "(retained true)")
	w.settle("f")
	w.put("f", doc("a", "3")+"kind: ConfigMap\nmetadata: {na\n---\n")
	w.expect(t, "another edit", "a=3@3 b=1", "(retained true)")
	w.put("f", doc("a", "3")+"kind: ConfigMap\nmetadata: {na\n---\n"+doc("b", "2"))
	w.expect(t, "written anew beside it", "a=3@3 b=2@2", "(retained false)")
	w.put("f", doc("a", "3")+doc("b", "2"))
	w.expect(t, "repaired", "a=3@3 b=2@2", "")

	w.put("f", doc("a", "3")+"nothing: here\n")
	w.expect(t, "no object", "a=3@3 b=2@2", "NotAnObject")
	if lacking := w.set(text{"f", []byte(doc("a", "3"))}); len(lacking) != 1 {
		t.Error("the removal of the bad document leaves nothing to settle")
	}
	w.settle("f")
	w.tell()
	w.expect(t, "removed", "a=3@3", "")
}

func TestSameObjectInTwoFiles(t *testing.T) {
	w := newWorld()
	w.put("b", doc("x", "b"))
	w.put("c", doc("x", "c")+doc("x", "c2"))
	w.expect(t, "two files", "x=b", `c:1 ConfigMap default/x DuplicateObject metadata.name: "default/x": defined first in b:1, which counts|c:8`)
	w.put("a", doc("x", "a"))
	w.expect(t, "an earlier path", "x=a@2", "b:1 ConfigMap default/x DuplicateObject metadata.name: \"default/x\": defined first in a:1")
	w.remove("a")
	if b := w.tell(); len(b.Edits) != 1 || w.values() != "x=b@3" {
		t.Errorf("when the winner goes: %v, in force %s", b.Edits, w.values())
	}
	w.remove("b")
	w.tell()
	w.expect(t, "the next winner", "x=c@4", "c:8 ConfigMap default/x DuplicateObject")
	w.put("c", doc("x", "c2"))
	w.expect(t, "the last one", "x=c2@5", "")
}

func TestBrokenWinnerKeepsItsRevisionBeforeADuplicate(t *testing.T) {
	w := newWorld()
	w.put("a", doc("b", "good"))
	w.put("z", doc("b", "other"))
	w.put("a", wrongValue)
	w.expect(t, "broken winner", "b=good", "a:6 ConfigMap default/b InvalidValue|z:1 ConfigMap default/b DuplicateObject")
	w.remove("a")
	w.tell()
	w.expect(t, "after it", "b=other@2", "")
}

func TestUnchangedDocumentsAreNotDecodedOrEmitted(t *testing.T) {
	w := newWorld()
	docs := make([]string, 500)
	for i := range docs {
		docs[i] = doc(fmt.Sprintf("m%03d", i), "1")
	}
	w.put("f", strings.Join(docs, ""))
	before := w.decoded.Load()
	docs[250] = doc("m250", "2")
	b := w.put("f", strings.Join(docs, ""))
	if n := w.decoded.Load() - before; n != 1 || len(b.Edits) != 1 || len(b.Origins) != 0 {
		t.Errorf("one edit: %d documents decoded, %d emitted, %d origins", n, len(b.Edits), len(b.Origins))
	}
	before = w.decoded.Load()
	b = w.put("f", "# a comment\n---\n"+strings.Join(docs, ""))
	if n := w.decoded.Load() - before; n != 0 || len(b.Edits) != 0 || len(b.Origins) != 500 {
		t.Errorf("moved lines: %d documents decoded, %d emitted, %d origins", n, len(b.Edits), len(b.Origins))
	}
	if at := w.origins[configMap("m499")]; at.Line != 499*7+3 || at.Document != 500 {
		t.Errorf("origin after the move: %+v", at)
	}
	b = w.put("f", strings.ReplaceAll("# a comment\n---\n"+strings.Join(docs, ""), `v: "1"`, `v: '1' # the same`))
	if len(b.Edits) != 0 {
		t.Errorf("other words for the same objects: %d emitted", len(b.Edits))
	}
}

func TestFindingsMoveWithTheirDocument(t *testing.T) {
	w := newWorld()
	w.put("f", wrongValue)
	decoded := w.decoded.Load()
	b := w.put("f", doc("a", "1")+wrongValue)
	if len(b.Findings["f"]) != 1 || b.Findings["f"][0].Line != 13 || b.Findings["f"][0].Document != 2 {
		t.Errorf("moved finding: %+v", b.Findings)
	}
	if n := w.decoded.Load() - decoded; n != 1 {
		t.Errorf("%d documents decoded, want the new one only", n)
	}
	if b := w.put("f", doc("a", "2")+wrongValue); len(b.Findings) != 0 {
		t.Errorf("findings that did not change are told again: %v", b.Findings)
	}
}

func TestReplacingAnImmutableFieldNeedsADeletion(t *testing.T) {
	class := func(controller string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: c}\nspec: {controllerName: " + controller + "}\n"
	}
	key := snapshot.Ref("GatewayClass", "", "c")
	w := newWorld()
	w.put("f", class("example.com/one"))
	first := w.objects[key]
	w.put("f", class("example.com/two"))
	if w.objects[key] != first || !strings.Contains(reportOf(w.findings), "ImmutableField") || !strings.Contains(reportOf(w.findings), "delete it from the file, wait until it is gone, add it again") {
		t.Fatalf("a forbidden change: %v\n%s", w.objects[key], reportOf(w.findings))
	}
	w.put("f", "")
	w.settle("f")
	w.tell()
	w.put("f", class("example.com/two"))
	if w.objects[key] == nil || w.objects[key] == first || len(w.findings) != 0 {
		t.Errorf("after the replacement: %v\n%s", w.objects[key], reportOf(w.findings))
	}
}

// Law: whatever the history, once nothing is in doubt the same files give the
// same objects and findings as reading them anew.
func TestAnyHistoryEqualsReadingAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := newWorld()
		files := map[string]string{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			path := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "path")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				delete(files, path)
				history.remove(path)
			default:
				files[path] = drawFile(t)
				history.set(text{path, []byte(files[path])})
				if rapid.Bool().Draw(t, "settle") {
					history.settle(path)
				}
			}
			if rapid.Bool().Draw(t, "tell") {
				history.tell()
			}
		}
		for path := range files {
			history.settle(path)
		}
		history.tell()
		anew := newWorld()
		for path, content := range files {
			anew.set(text{path, []byte(content)})
		}
		anew.tell()
		if d := cmp.Diff(anew.state(), history.state()); d != "" {
			t.Fatalf("history differs (-anew +history):\n%s", d)
		}
	})
}

// state is all that is told, without generations, which count the history.
func (w *world) state() map[string]string {
	out := map[string]string{"findings": ""}
	for k, o := range w.objects {
		out[k.Name] = fmt.Sprintf("%s from %v", valueOf(o), w.origins[k])
	}
	for _, path := range slices.Sorted(maps.Keys(w.findings)) {
		for _, f := range w.findings[path] {
			f.Retained = false // of a refused object, which depends on the history
			out["findings"] += fmt.Sprintf("%+v\n", f)
		}
	}
	return out
}

// drawFile draws documents of few objects, so that they meet; those of "bad"
// are always refused.
func drawFile(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(0, 4).Draw(t, "documents") {
		name := rapid.SampledFrom([]string{"p", "q", "r", "bad"}).Draw(t, "name")
		text := doc(name, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value"))
		if name == "bad" {
			text = strings.Replace(text, "\ndata:", "\ndat:", 1)
		}
		b.WriteString(strings.Repeat("#\n", rapid.IntRange(0, 2).Draw(t, "comments")) + text)
	}
	return b.String()
}
