// Package admintest has a Reporter with a fixed answer to everything, for tests
// of what stands in front of one.
package admintest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Reporter answers from its fields.
type Reporter struct {
	All      []verdict.Verdict
	Bodies   []json.RawMessage
	Page     admin.Overview
	Beliefs  []admin.View
	Rejected []admin.InputRejection
	NotReady error
}

var _ admin.Reporter = (*Reporter)(nil)

// Verdict finds the object among All.
func (r *Reporter) Verdict(kind, name string) (*verdict.Verdict, *admin.NeverSeen) {
	never := &admin.NeverSeen{Kind: kind, Name: name, Reasons: []string{"kind " + kind + " is watched (v1, from 9 files)"}}
	if _, ok := snapshot.KindOf(kind); !ok {
		never.Reasons = []string{"kind " + kind + " is not served; the kinds are in docs/reference"}
	}
	for _, v := range r.All {
		full := snapshot.NamespacedName(v.Object.Namespace, v.Object.Name)
		if v.Object.Kind != kind {
			continue
		}
		if full == name {
			return &v, nil
		}
		if strings.HasPrefix(full, name[:min(len(name), 8)]) {
			never.Closest = append(never.Closest, full)
		}
	}
	return nil, never
}

// Verdicts returns those of All with the kind.
func (r *Reporter) Verdicts(kind string) []verdict.Verdict {
	return slices.DeleteFunc(slices.Clone(r.All), func(v verdict.Verdict) bool {
		return kind != "" && v.Object.Kind != kind
	})
}

// Objects returns those of Bodies with the kind and name.
func (r *Reporter) Objects(kind, name string) []json.RawMessage {
	return slices.DeleteFunc(slices.Clone(r.Bodies), func(body json.RawMessage) bool {
		var o struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if err := json.Unmarshal(body, &o); err != nil {
			panic(err) // a mistake in the test's data
		}
		full := snapshot.NamespacedName(o.Metadata.Namespace, o.Metadata.Name)
		return kind != "" && o.Kind != kind || name != "" && full != name
	})
}

// Overview returns Page.
func (r *Reporter) Overview() admin.Overview { return r.Page }

// Views returns Beliefs.
func (r *Reporter) Views() []admin.View { return r.Beliefs }

// InputRejections returns Rejected.
func (r *Reporter) InputRejections() []admin.InputRejection { return r.Rejected }

// ConfigDump knows the Gateways of Page.
func (r *Reporter) ConfigDump(_ context.Context, gateway string) ([]byte, error) {
	for _, g := range r.Page.Gateways {
		if g.Name == gateway {
			return []byte(`{"configs":[]}`), nil
		}
	}
	return nil, errors.New("it has no proxy here")
}

// Ready returns NotReady.
func (r *Reporter) Ready() error { return r.NotReady }

// Since is when the instances of this package started.
var Since = time.Date(2026, 11, 29, 14, 0, 0, 0, time.UTC)
