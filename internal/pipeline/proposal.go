package pipeline

import (
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// draft is a proposal on its way to edits of one published value.
type draft struct {
	at       *published
	now      time.Time
	objects  []admin.ProposedObject
	findings []admin.ProposalFinding
	edits    []store.Edit
	seen     map[store.Key]bool
}

// draftOf decodes a proposal as the documents of files are, next to what is observed.
func (a *Admitter) draftOf(at *published, p admin.Proposal) *draft {
	d := &draft{at: at, now: a.now(), seen: map[store.Key]bool{}}
	whose := owners{controller: a.controller, view: at.observed, proposed: map[store.Key]outline{}}
	for _, raw := range p.Objects {
		o := outlineOf(raw)
		whose.proposed[o.key()] = o
	}
	for _, raw := range p.Objects {
		o := outlineOf(raw)
		if kind, served := schema.KindOf(o.APIVersion, o.Kind); !served || o.Metadata.Deletion != nil || whose.leaves(kind.Name, o) {
			d.note(o.key(), admin.ChangeOther)
			continue
		}
		for _, doc := range schema.Split(raw) {
			for _, object := range a.schema.Decode(doc, d.previous) {
				d.propose(object)
			}
		}
	}
	for _, name := range p.Deletions {
		d.remove(name, whose)
	}
	return d
}

// leaves reports whether an object is another controller's and was before.
func (w owners) leaves(kind string, o outline) bool {
	key := o.key()
	namespace, _ := snapshot.SplitName(key.Name)
	if !w.foreign(kind, namespace, o) {
		return false
	}
	before, was := w.observed(key)
	return !was || w.foreign(kind, namespace, before)
}

func (d *draft) note(key store.Key, change string) {
	d.objects = append(d.objects, admin.ProposedObject{ObjectName: nameOf(key), Change: change})
}

func nameOf(key store.Key) admin.ObjectName {
	return admin.ObjectName{Kind: key.Collection, Name: key.Name}
}

// previous is the revision that rules about transitions compare with.
func (d *draft) previous(key store.Key) snapshot.Object {
	value, _ := d.at.observed.Get(key)
	object, _ := value.(snapshot.Object)
	return object
}

// propose takes one decoded object.
func (d *draft) propose(o schema.Object) {
	change := admin.ChangeCreate
	before, exists := d.at.observed.Get(o.Key)
	if exists {
		change = admin.ChangeUpdate
	}
	for _, p := range o.Problems {
		d.findings = append(d.findings, admin.ProposalFinding{ObjectName: nameOf(o.Key), Step: p.Step(), Fails: true})
	}
	switch {
	case o.Value == nil:
		d.note(o.Key, change)
	case d.repeats(o.Key):
		d.note(o.Key, change)
	default:
		value, same := d.recorded(o.Key, o.Value)
		if same && store.Identical(value, before) {
			change = admin.ChangeNone
		}
		d.note(o.Key, change)
		d.edit(o.Key, value)
	}
}

// repeats refuses an object that the proposal has twice.
func (d *draft) repeats(key store.Key) bool {
	if !d.seen[key] {
		d.seen[key] = true
		return false
	}
	d.findings = append(d.findings, admin.ProposalFinding{ObjectName: nameOf(key), Fails: true, Step: schema.InvalidMetadata.Step(
		verdict.Accept, verdict.WasRejected, "is proposed twice; propose one revision of it").At("metadata.name")})
	return true
}

// edit adds an edit unless what it asks for is observed and accepted already.
func (d *draft) edit(key store.Key, value any) {
	observed, _ := d.at.observed.Get(key)
	accepted, _ := d.at.state.View().Get(key)
	if !store.Identical(value, observed) || !store.Identical(observed, accepted) {
		d.edits = append(d.edits, store.Edit{Key: key, Value: value})
	}
}

// recorded is a value with what its source would add, or the very revision that is
// observed or accepted already if it is the same.
func (d *draft) recorded(key store.Key, value snapshot.Object) (out any, same bool) {
	out = d.withRecord(value, nil)
	for _, view := range []store.View{d.at.observed, d.at.state.View()} {
		known, _ := view.Get(key)
		before, ok := known.(snapshot.Object)
		if !ok {
			continue
		}
		again := d.withRecord(value, before)
		if equality.Semantic.DeepEqual(again, before) {
			return known, true
		}
		if view == d.at.observed {
			again.SetGeneration(before.GetGeneration() + 1)
			out = again
		}
	}
	return out, false
}

// withRecord returns a copy of a value with the record of an earlier revision.
func (d *draft) withRecord(value, before snapshot.Object) snapshot.Object {
	copied := reflect.New(reflect.TypeOf(value).Elem())
	copied.Elem().Set(reflect.ValueOf(value).Elem())
	out := copied.Interface().(snapshot.Object) // the same type as value
	created, generation := meta_v1.NewTime(d.now.Truncate(time.Second)), int64(1)
	if before != nil {
		created, generation = before.GetCreationTimestamp(), before.GetGeneration()
	}
	out.SetGeneration(generation)
	if at := out.GetCreationTimestamp(); at.IsZero() {
		out.SetCreationTimestamp(created)
	}
	return out
}

// remove takes one deletion.
func (d *draft) remove(name admin.ObjectName, whose owners) {
	key := store.Key{Collection: name.Kind, Name: name.Name}
	if kind, ok := snapshot.KindOf(name.Kind); ok {
		key.Collection = kind.Name
	}
	if d.repeats(key) {
		return
	}
	before, exists := whose.observed(key)
	namespace, _ := snapshot.SplitName(key.Name)
	switch {
	case !exists:
		d.note(key, admin.ChangeNone)
	case whose.foreign(key.Collection, namespace, before):
		d.note(key, admin.ChangeOther)
	default:
		d.note(key, admin.ChangeDelete)
		d.edit(key, nil)
	}
}

// refused reports whether some object of the proposal is not valid by itself.
func (d *draft) refused() bool { return len(d.findings) > 0 }

// namespaces are those that the edits are in; "" is that of objects without one.
func (d *draft) namespaces() []string {
	var out []string
	for _, e := range d.edits {
		namespace, _ := snapshot.SplitName(e.Name)
		out = appendUnique(out, namespace)
	}
	return out
}

// digest tells proposals apart.
func digest(p admin.Proposal) (out [32]byte) {
	raw, err := json.Marshal(p)
	if err != nil {
		raw = []byte(err.Error()) // raw messages were read as JSON, so they can be written
	}
	return sha256.Sum256(raw)
}
