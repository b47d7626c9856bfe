package admin

import (
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// KindName is how a kind may be written.
type KindName struct {
	Name          string // "HTTPRoute"
	Plural        string // "httproutes"
	Group         string // empty for the core kinds
	Short         []string
	ClusterScoped bool
}

// short are the short names that kubectl users know, and "gw".
var short = map[string][]string{
	"BackendTLSPolicy":      {"btlspolicy"},
	"ClusterTrustBundle":    {"ctb"},
	"ConfigMap":             {"cm"},
	"EndpointSlice":         {"eps"},
	"Gateway":               {"gw", "gtw"},
	"GatewayClass":          {"gc"},
	"ListenerSet":           {"lset"},
	"Namespace":             {"ns"},
	"ReferenceGrant":        {"refgrant"},
	"Service":               {"svc"},
	"ServiceImport":         {"svcim"},
	"XBackendTrafficPolicy": {"xbtrafficpolicy"},
}

// KindNames returns every kind that is observed, in order of name.
func KindNames() []KindName {
	out := make([]KindName, 0, len(snapshot.Kinds))
	for _, k := range snapshot.Kinds {
		out = append(out, KindName{Name: k.Name, Plural: k.Plural, Group: k.Group, Short: short[k.Name], ClusterScoped: k.ClusterScoped})
	}
	return out
}

// ResolveKind returns the kind that a user means by a name: in any case,
// singular, plural, or short, with or without the group after a dot.
func ResolveKind(text string) (KindName, bool) {
	name, group, qualified := strings.Cut(strings.ToLower(text), ".")
	for _, k := range KindNames() {
		if qualified && group != k.Group {
			continue
		}
		if strings.EqualFold(k.Name, name) || k.Plural == name || slices.Contains(k.Short, name) {
			return k, true
		}
	}
	return KindName{}, false
}
