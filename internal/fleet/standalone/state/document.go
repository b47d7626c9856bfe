package state

import (
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// Errors of Apply.
var (
	// ErrLeaving: a Proxy of that name is still being deleted; apply again when it is gone.
	ErrLeaving = errors.New("a Proxy of this name is still being deleted")
	// ErrModeChanged and ErrProviderChanged: the earlier spec stays.
	ErrModeChanged     = errors.New("mode cannot change")
	ErrProviderChanged = errors.New("provider cannot change")
)

// Apply makes the document of a Proxy, which is valid, what is wanted, and reports
// whether that changed anything. What only a server writes is not taken from it. A new
// Proxy gets a random UID.
func (s *Store) Apply(document *proxy, file string, line int) (changed bool, err error) {
	var before *Record
	after, err := s.update(keyOf(document), func(b *Record) (*Record, error) {
		before = b
		switch {
		case b == nil:
			return s.created(document, file, line), nil
		case b.Proxy.DeletionTimestamp != nil:
			return b.reannotated(document), nil
		case b.Proxy.Spec.Mode != document.Spec.Mode:
			return nil, ErrModeChanged
		case b.Proxy.Spec.Provider != document.Spec.Provider:
			return nil, ErrProviderChanged
		}
		return b.updated(document, file, line), nil
	})
	if err == nil && before != nil && before.Proxy.DeletionTimestamp != nil {
		err = ErrLeaving
	}
	return after != before, err
}

// Delete marks a Proxy for deletion, or removes it if nothing keeps it.
func (s *Store) Delete(key types.NamespacedName) error {
	_, err := s.update(key, func(before *Record) (*Record, error) {
		if before == nil || before.Proxy.DeletionTimestamp != nil {
			return before, nil
		}
		after := before.copy()
		after.Proxy.DeletionTimestamp = new(meta_v1.NewTime(s.now().Truncate(1e9)))
		after.Proxy.DeletionGracePeriodSeconds = new(int64(0))
		after.Proxy.Generation++ // as an API server does
		return after, nil
	})
	return err
}

func (s *Store) created(document *proxy, file string, line int) *Record {
	r := &Record{Proxy: document.DeepCopy(), File: file, Line: line}
	r.Proxy.ObjectMeta = meta_v1.ObjectMeta{
		Name: document.Name, Namespace: document.Namespace, UID: uuid.NewUUID(), Generation: 1,
		CreationTimestamp: meta_v1.NewTime(s.now().Truncate(1e9)),
		Labels:            maps.Clone(document.Labels), Annotations: annotations(document, nil),
	}
	r.Proxy.TypeMeta = meta_v1.TypeMeta{APIVersion: egress_v1alpha1.GroupVersion.String(), Kind: "Proxy"}
	r.Proxy.Status = egress_v1alpha1.ProxyStatus{}
	return r
}

func (r *Record) updated(document *proxy, file string, line int) *Record {
	after := r.reannotated(document)
	after.File, after.Line = file, line
	after.Proxy.Labels = maps.Clone(document.Labels)
	if !equality.Semantic.DeepEqual(r.Proxy.Spec, document.Spec) {
		document.Spec.DeepCopyInto(&after.Proxy.Spec)
		after.Proxy.Generation++
	}
	return after
}

// reannotated takes a document's annotations, beside those that PatchMetadata wrote.
func (r *Record) reannotated(document *proxy) *Record {
	after := r.copy()
	after.Proxy.Annotations = annotations(document, r.Written)
	return after
}

// annotations are those of a document, and over them those written.
func annotations(document *proxy, written map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range document.Annotations {
		if k != egress_v1alpha1.SpecHashAnnotation { // copied from another object
			out[k] = v
		}
	}
	maps.Copy(out, written)
	if len(out) == 0 {
		return nil
	}
	return out
}
