package standalone

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// kinds are what is read.
var kinds = []snapshot.Kind{
	{Name: "Proxy", Group: egress_v1alpha1.Group, Versions: []string{egress_v1alpha1.Version}, Plural: "proxies", New: func() snapshot.Object { return new(egress_v1alpha1.Proxy) }},
	{Name: "Secret", Versions: []string{"v1"}, Plural: "secrets", New: func() snapshot.Object { return new(core_v1.Secret) }},
}

// newValidator decodes documents by the same definition that an API server has.
func newValidator() *schema.Validator {
	return schema.New(schema.Options{Kinds: kinds, Open: func(snapshot.Feature) bool { return true }})
}

// documents are what the directory says.
type documents struct {
	proxies  map[types.NamespacedName]*egress_v1alpha1.Proxy
	origins  map[types.NamespacedName]snapshot.Origin
	findings map[string][]snapshot.Finding // by file
	// missing says since when no document defines a Proxy that is kept.
	missing map[types.NamespacedName]time.Time
	// lostSecrets have no document any more; they are let go with the Proxies.
	lostSecrets map[types.NamespacedName]bool
	files       int
}

func newDocuments() *documents {
	return &documents{
		proxies: map[types.NamespacedName]*egress_v1alpha1.Proxy{}, origins: map[types.NamespacedName]snapshot.Origin{},
		findings: map[string][]snapshot.Finding{}, missing: map[types.NamespacedName]time.Time{}, lostSecrets: map[types.NamespacedName]bool{},
	}
}

// take adds a batch. It returns the Secrets that are new or changed, and the findings
// that are news.
func (d *documents) take(b snapshot.Batch) (secrets []*core_v1.Secret, news []snapshot.Finding) {
	d.files = b.Files
	for _, e := range b.Edits {
		key := nameOf(e.Key)
		switch value := e.Value.(type) {
		case *egress_v1alpha1.Proxy:
			d.proxies[key] = value
		case *core_v1.Secret:
			delete(d.lostSecrets, key)
			secrets = append(secrets, value)
		default: // deleted
			if e.Key.Collection == "Secret" {
				d.lostSecrets[key] = true
			} else {
				delete(d.proxies, key)
			}
		}
	}
	for key, origin := range b.Origins {
		if key.Collection == "Proxy" {
			d.origins[nameOf(key)] = origin
		}
	}
	for _, file := range slices.Sorted(maps.Keys(b.Findings)) {
		news = append(news, newOf(d.findings[file], b.Findings[file])...)
		if d.findings[file] = b.Findings[file]; len(b.Findings[file]) == 0 {
			delete(d.findings, file)
		}
	}
	return secrets, news
}

// newOf returns the findings that were not there before.
func newOf(before, now []snapshot.Finding) (news []snapshot.Finding) {
	for _, f := range now {
		same := func(b snapshot.Finding) bool {
			return b.Object == f.Object && b.Step.Field == f.Step.Field && b.Step.Message == f.Step.Message
		}
		if !slices.ContainsFunc(before, same) {
			news = append(news, f)
		}
	}
	return news
}

// all returns the findings in order of place.
func (d *documents) all() (out []snapshot.Finding) {
	for _, file := range slices.Sorted(maps.Keys(d.findings)) {
		out = append(out, d.findings[file]...)
	}
	slices.SortStableFunc(out, func(a, b snapshot.Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line)
	})
	return out
}

// of returns the findings that name a Proxy.
func (d *documents) of(key types.NamespacedName) (out []snapshot.Finding) {
	for _, f := range d.all() {
		if f.Object == (store.Key{Collection: "Proxy", Name: key.String()}) {
			out = append(out, f)
		}
	}
	return out
}

func nameOf(key store.Key) types.NamespacedName {
	namespace, name := snapshot.SplitName(key.Name)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// place is a file and line for people.
func place(o snapshot.Origin) string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}
