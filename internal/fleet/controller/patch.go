package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	api_errors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// metadata is what a patch may say of an object. The UID keeps it off another object that
// has got the same name.
type metadata struct {
	UID             types.UID          `json:"uid,omitempty"`
	ResourceVersion string             `json:"resourceVersion,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
	Finalizers      *[]string          `json:"finalizers,omitempty"`
}

// PatchMetadata implements [reconcile.Objects].
func (o *objects) PatchMetadata(ctx context.Context, base, p *egress_v1alpha1.Proxy) error {
	m := metadata{UID: base.UID, Annotations: changed(base.Annotations, p.Annotations)}
	if !slices.Equal(base.Finalizers, p.Finalizers) {
		m.ResourceVersion, m.Finalizers = base.ResourceVersion, new(append([]string{}, p.Finalizers...))
	}
	if m.Annotations == nil && m.Finalizers == nil {
		return nil
	}
	body, err := json.Marshal(map[string]metadata{"metadata": m})
	if err != nil {
		return err
	}
	return o.patch(ctx, p, types.MergePatchType, body, func(ctx context.Context, to client.Object, patch client.Patch) error {
		return o.cached.Patch(ctx, to, patch)
	})
}

// changed returns what must be set, and nil for what must go.
func changed(from, to map[string]string) map[string]*string {
	var out map[string]*string
	set := func(key string, value *string) {
		if out == nil {
			out = make(map[string]*string)
		}
		out[key] = value
	}
	for key, value := range to {
		if old, ok := from[key]; !ok || old != value {
			set(key, &value)
		}
	}
	for key := range from {
		if _, ok := to[key]; !ok {
			set(key, nil)
		}
	}
	return out
}

// PatchStatus implements [reconcile.Objects]. A merge patch cannot name the UID of the
// object whose status it is for: subresources ignore it. A JSON patch can test it.
func (o *objects) PatchStatus(ctx context.Context, base, p *egress_v1alpha1.Proxy) error {
	ops, err := statusOps(base.Status, p.Status)
	if err != nil || len(ops) == 0 {
		return err
	}
	body, err := json.Marshal(append([]op{{"test", "/metadata/uid", p.UID}}, ops...))
	if err != nil {
		return err
	}
	return o.patch(ctx, p, types.JSONPatchType, body, func(ctx context.Context, to client.Object, patch client.Patch) error {
		return o.cached.Status().Patch(ctx, to, patch)
	})
}

// op is an operation of RFC 6902.
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"` // ignored by remove
}

// statusOps makes from into to, field by field; an object may have no status at all yet.
func statusOps(from, to egress_v1alpha1.ProxyStatus) ([]op, error) {
	had, err := fields(from)
	if err != nil {
		return nil, err
	}
	has, err := fields(to)
	if err != nil {
		return nil, err
	}
	if len(had) == 0 && len(has) > 0 {
		return []op{{"add", "/status", has}}, nil
	}
	var ops []op
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if !bytes.Equal(had[name], has[name]) {
			ops = append(ops, op{"add", "/status/" + name, has[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if _, ok := has[name]; !ok {
			ops = append(ops, op{"remove", "/status/" + name, nil})
		}
	}
	return ops, nil
}

func fields(s egress_v1alpha1.ProxyStatus) (out map[string]json.RawMessage, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(text, &out)
}

// patch sends a patch, and gives p the version that came of it.
func (o *objects) patch(ctx context.Context, p *egress_v1alpha1.Proxy, kind types.PatchType, body []byte, send func(context.Context, client.Object, client.Patch) error) error {
	if err := o.fence(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	to := &egress_v1alpha1.Proxy{Namespace: p.Namespace, Name: p.Name}
	err := send(ctx, to, client.RawPatch(kind, body))
	switch {
	case api_errors.IsNotFound(err), api_errors.IsInvalid(err) && o.another(ctx, p):
		return reconcile.ErrNoObject
	case api_errors.IsConflict(err):
		return fmt.Errorf("%w: %w", reconcile.ErrConflict, err)
	case err != nil:
		return err
	}
	o.wrote(client.ObjectKeyFromObject(p), to.ResourceVersion)
	p.ResourceVersion = to.ResourceVersion
	return nil
}

// another tells that there is no such object any more, whatever has its name now.
func (o *objects) another(ctx context.Context, p *egress_v1alpha1.Proxy) bool {
	now, err := o.Current(ctx, client.ObjectKeyFromObject(p))
	return errors.Is(err, reconcile.ErrNoObject) || err == nil && now.UID != p.UID
}
