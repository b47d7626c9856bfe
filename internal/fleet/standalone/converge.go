package standalone

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone/state"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// retryStore is how long a state directory that cannot be written rests.
const retryStore = 5 * time.Second

// converge brings what is kept to what the documents say, whenever they change and
// when a loss is due to be judged, until ctx ends.
func (f *Fleet) converge(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-timer.C:
		}
		if after := f.convergeOnce(); after > 0 {
			timer.Reset(after)
		}
	}
}

// convergeOnce returns when to look again, 0 for when something changes.
func (f *Fleet) convergeOnce() (after time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.documents.proxies {
		if err := f.apply(key); err != nil {
			f.Log.Error("the state directory cannot be written; tried again", observe.KeyKind, "Proxy", observe.KeyObject, key.String(), observe.KeyError, err)
			after = retryStore
		}
	}
	lost, err := f.judgeLoss()
	if err != nil {
		f.Log.Error("the state directory cannot be written; tried again", observe.KeyError, err)
		after = retryStore
	}
	if lost > 0 && (after == 0 || lost < after) {
		after = lost
	}
	if !f.ready && after != retryStore {
		f.ready = true
		if f.Began != nil {
			close(f.Began)
		}
		f.enqueueAll()
	}
	return after
}

// enqueueAll begins the work, once all documents have been stored.
func (f *Fleet) enqueueAll() {
	for _, r := range f.Objects.Records() {
		f.queue.Add(types.NamespacedName{Namespace: r.Proxy.Namespace, Name: r.Proxy.Name})
	}
}

// apply stores one document. The error is of the disk.
func (f *Fleet) apply(key types.NamespacedName) error {
	document, origin := f.documents.proxies[key], f.documents.origins[key]
	if document.Annotations[egress_v1alpha1.AbandonAnnotation] == "true" && f.Objects.Record(key) == nil {
		f.refuse(key, origin, abandoned)
		return nil
	}
	changed, err := f.Objects.Apply(document, f.relative(origin.File), origin.Line)
	switch {
	case errors.Is(err, state.ErrModeChanged):
		f.refuse(key, origin, immutable("mode"))
	case errors.Is(err, state.ErrProviderChanged):
		f.refuse(key, origin, immutable("provider"))
	case errors.Is(err, state.ErrLeaving):
		f.refuse(key, origin, leaving)
	case err != nil:
		return err
	default:
		delete(f.refused, key)
	}
	if changed && f.ready {
		f.queue.Forget(key) // a new wish does not wait for the failures of the old one
		f.queue.Add(key)
	}
	return nil
}

// relative is the path of a file below the directory, which may be moved as a whole.
func (f *Fleet) relative(file string) string {
	if rel, err := filepath.Rel(f.Dir, file); err == nil {
		return rel
	}
	return file
}

var (
	abandoned = verdict.InstanceAbandoned.Step(verdict.Accept, verdict.WasExcluded,
		`"true": nothing is created; remove the annotation to have the Proxy created, or remove the document`).At("metadata.annotations[" + egress_v1alpha1.AbandonAnnotation + "]")
	leaving = verdict.Leaving.Step(verdict.Accept, verdict.StillPending, "the earlier Proxy of this name is still being deleted; this one is created when it is gone")
)

func immutable(field string) verdict.Step {
	return schema.ImmutableField.Step(verdict.Accept, verdict.WasRejected,
		field+" cannot change, so the earlier spec stays; undo the change, or delete the Proxy, wait until it is gone, and create it anew").At("spec." + field)
}

// refuse notes why a document is not in force, and tells it once.
func (f *Fleet) refuse(key types.NamespacedName, origin snapshot.Origin, step verdict.Step) {
	if f.refused[key].Message == step.Message {
		return
	}
	f.refused[key] = step
	f.Log.Warn("a document is not in force", observe.KeyKind, "Proxy", observe.KeyObject, key.String(),
		observe.KeyFile, place(origin), observe.KeyField, step.Field, observe.KeyReason, step.Reason, observe.KeyMessage, step.Message)
}

// judgeLoss finds the Proxies that no document defines, and lets them go if that is
// certain to be meant. It returns when to look again.
func (f *Fleet) judgeLoss() (time.Duration, error) {
	l := f.loss()
	d, after := l.judge(f.Now())
	f.tellHeld(d, l)
	f.held = d
	if d != letGo {
		return after, nil
	}
	for key := range f.documents.missing {
		if err := f.Objects.Delete(key); err != nil {
			return 0, err
		}
		f.Log.Info("deleting, since no document defines it any more", observe.KeyKind, "Proxy", observe.KeyObject, key.String())
		delete(f.documents.missing, key)
		delete(f.refused, key)
		f.queue.Forget(key)
		f.queue.Add(key)
	}
	for key := range f.documents.lostSecrets {
		if f.leavingNeeds(key) {
			continue // its end wakes converge
		}
		f.Objects.setSecret(key, nil)
		delete(f.documents.lostSecrets, key)
		f.enqueueUsers(key)
	}
	return 0, nil
}

// leavingNeeds says whether a Proxy that is being deleted needs a Secret for it: that of
// its provider's account often goes with it, in the same file.
func (f *Fleet) leavingNeeds(secret types.NamespacedName) bool {
	return slices.ContainsFunc(f.Objects.Records(), func(r *state.Record) bool {
		return r.Proxy.DeletionTimestamp != nil && needs(r.Proxy, secret)
	})
}

// loss counts what is missing, and notes since when.
func (f *Fleet) loss() loss {
	now, l := f.Now(), loss{files: f.documents.files, allowed: f.AllowMassDelete}
	before := f.documents.missing
	f.documents.missing = map[types.NamespacedName]time.Time{}
	for _, r := range f.Objects.Records() {
		key := types.NamespacedName{Namespace: r.Proxy.Namespace, Name: r.Proxy.Name}
		if r.Proxy.DeletionTimestamp != nil {
			continue
		}
		l.total++
		if f.documents.proxies[key] != nil || len(f.documents.of(key)) > 0 { // a refused document is one too
			continue
		}
		since, known := before[key]
		if !known {
			since = now
		}
		f.documents.missing[key] = since
		l.missing++
		if l.oldest.IsZero() || since.Before(l.oldest) {
			l.oldest = since
		}
		if since.After(l.newest) {
			l.newest = since
		}
	}
	return l
}

// tellHeld says once that Proxies are kept although their documents are gone.
func (f *Fleet) tellHeld(d decision, l loss) {
	if d == f.held || d != holdNone && d != holdHalf {
		return
	}
	f.Log.Warn(heldMessage(d, f.Dir, l.missing, l.total))
}

// heldMessage says why Proxies without a document stay, and what lets them go.
func heldMessage(d decision, dir string, missing, total int) string {
	switch d {
	case holdNone:
		return fmt.Sprintf("%s holds no document at all, perhaps a file system is not mounted: nothing is deleted; put the documents back, or, to delete all %d Proxies, put an empty file fleet.yaml there and start with --allow-mass-delete", dir, total)
	case holdHalf:
		return fmt.Sprintf("the documents of %d of %d Proxies are gone from %s, more than half: nothing is deleted; put them back, or start with --allow-mass-delete", missing, total, dir)
	case wait, letGo:
	}
	return "its document is gone; it is deleted in a moment"
}
