package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	apiextensions_v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Options say which objects are let in.
type Options struct {
	// Open reports whether a feature switch is on. Nil means that all are off.
	Open func(snapshot.Feature) bool
	// Kinds are those that are read. Nil means those of a gateway, snapshot.Kinds.
	Kinds []snapshot.Kind
}

// Validator decodes and validates documents. It is safe for concurrent use.
type Validator struct {
	open  func(snapshot.Feature) bool
	kinds kindSet
	defs  definitions
}

// New returns a Validator; it compiles nothing yet.
func New(o Options) *Validator {
	open := func(f snapshot.Feature) bool { return f == "" || o.Open != nil && o.Open(f) }
	kinds := kindSet(o.Kinds)
	if kinds == nil {
		kinds = snapshot.Kinds
	}
	return &Validator{open: open, kinds: kinds, defs: definitions{
		byID:  map[definitionID]func() (*definition, error){},
		files: map[string]func() (*apiextensions_v1.CustomResourceDefinition, error){},
	}}
}

// Previous returns the accepted revision of an object that is in force, or nil.
type Previous func(store.Key) snapshot.Object

// KindOf returns the kind of a gateway's objects with this apiVersion and kind, and whether it is
// read, if perhaps in another version or with a feature switch.
func KindOf(apiVersion, kind string) (snapshot.Kind, bool) {
	group, _ := splitVersion(apiVersion)
	return kindSet(snapshot.Kinds).find(group, kind)
}

// Object is what became of one object of a document.
type Object struct {
	// Key is the object's identity as far as it could be read; Name may be empty.
	Key store.Key
	// Value is the defaulted and validated object, without status, or nil if it is
	// refused. Its generation is 0: the source counts those.
	Value snapshot.Object
	// Line of the file on which the object starts, from 1.
	Line int
	// Content is a hash of the whole object, Spec one without its metadata.
	Content, Spec string
	// Problems are why it is refused, by line; none if Value is set.
	Problems []Problem
}

// Decode returns the objects of a document in order: one, or the items of a List.
// It never fails as a whole: what is wrong is in the objects' Problems.
func (v *Validator) Decode(doc Document, previous Previous) []Object {
	out := v.decode(doc, previous)
	last := doc.start + bytes.Count(doc.Text, []byte("\n"))
	for i := range out { // YAML has line ends that editors do not count
		out[i].Line = min(out[i].Line, last)
		for j := range out[i].Problems {
			out[i].Problems[j].Line = min(out[i].Problems[j].Line, last)
		}
	}
	return out
}

func (v *Validator) decode(doc Document, previous Previous) []Object {
	root, err := parse(doc)
	if err != nil {
		return []Object{{Key: v.kinds.guessKey(doc.Text), Line: doc.Line, Problems: []Problem{problemOf(err, doc.Line)}}}
	}
	if previous == nil {
		previous = func(store.Key) snapshot.Object { return nil }
	}
	items, isList := v.kinds.itemsOf(root)
	if !isList {
		object := v.decodeObject(root, previous)
		object.Line = doc.Line
		return []Object{object}
	}
	out := make([]Object, 0, len(items))
	for _, item := range items {
		out = append(out, v.decodeObject(item, previous))
	}
	return out
}

// problemOf returns the problem in an error of parse.
func problemOf(err error, line int) Problem {
	if e, ok := errors.AsType[*inputError](err); ok {
		return e.problem
	}
	return Problem{Reason: InvalidSyntax, Line: line, Message: oneLine(err.Error())}
}

// itemsOf unpacks "kind: List" and the lists of served kinds.
func (s kindSet) itemsOf(root *node) ([]*node, bool) {
	items := root.get("items")
	of, ok := strings.CutSuffix(root.text("kind"), "List")
	if items == nil || items.shape != isList || !ok {
		return nil, false
	}
	if of == "" {
		return items.items, true
	}
	group, _ := splitVersion(root.text("apiVersion"))
	_, known := s.find(group, of)
	return items.items, known
}

func (v *Validator) decodeObject(root *node, previous Previous) Object {
	apiVersion, kind := root.text("apiVersion"), root.text("kind")
	out := Object{
		Line: root.line,
		Key:  v.kinds.keyOf(apiVersion, kind, root.text("metadata", "namespace"), root.text("metadata", "name")),
	}
	served, version, problem := v.admit(root)
	if problem != nil {
		out.Problems = []Problem{*problem}
		return out
	}
	d := draft{root: root, kind: served, version: version, key: out.Key, previous: previous}
	if p := d.checkMetadata(); len(p) > 0 {
		out.Problems = arrange(p)
		return out
	}
	var problems []Problem
	if rules, core := coreKinds[served.Name]; core {
		out.Value, problems = d.decodeCore(rules)
	} else {
		out.Value, problems = v.decodeCustom(&d)
	}
	if len(problems) > 0 {
		out.Value, out.Problems = nil, arrange(problems)
		return out
	}
	out.Content, out.Spec = d.hashes()
	return out
}

// admit decides whether an object of this kind and version is read at all.
func (v *Validator) admit(root *node) (snapshot.Kind, string, *Problem) {
	no := func(p Problem) (snapshot.Kind, string, *Problem) { return snapshot.Kind{}, "", &p }
	if p := checkEnvelope(root); p != nil {
		return no(*p)
	}
	name := root.text("kind")
	group, version := splitVersion(root.text("apiVersion"))
	kind, known := v.kinds.find(group, name)
	if !known {
		return no(Problem{Reason: KindNotServed, Field: "kind", Line: root.lineOf("kind"), Message: v.kinds.unserved(group, name)})
	}
	if !has(kind.Versions, version) {
		return no(Problem{Reason: VersionNotServed, Field: "apiVersion", Line: root.lineOf("apiVersion"), Message: fmt.Sprintf(
			"%q: %s is not read in this version; write one of %s", root.text("apiVersion"), name, versions(kind))})
	}
	if !v.open(kind.Feature) {
		return no(Problem{Reason: verdict.FeatureDisabled, Field: "kind", Line: root.lineOf("kind"), Message: fmt.Sprintf(
			"%q: this kind is read only with %s; %s, or remove the document", name, kind.Feature, kind.Feature.Remedy())})
	}
	return kind, version, nil
}
