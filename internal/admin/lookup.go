package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// target is the object that a path names.
type target struct{ kind, name string }

// target returns the object of a path, with the kind's proper name. A name
// without namespace means the one in namespace "default", else the only one of
// that name.
func (a *api) target(r *http.Request) (target, *Problem) {
	t := target{kind: a.kind(r.PathValue("kind")), name: r.PathValue("name")}
	namespace := r.PathValue("namespace")
	known, ok := ResolveKind(t.kind)
	switch {
	case t.name == "":
		return t, nil
	case ok && known.ClusterScoped && namespace != "":
		return t, &Problem{Error: fmt.Sprintf("%s has no namespace; ask for %s %s", t.kind, t.kind, t.name)}
	case ok && known.ClusterScoped, namespace != "":
		t.name = snapshot.NamespacedName(namespace, t.name)
		return t, nil
	}
	return a.unqualified(t)
}

func (a *api) unqualified(t target) (target, *Problem) {
	var found []string
	for _, v := range a.Reporter.Verdicts(t.kind) {
		if v.Object.Name == t.name {
			found = append(found, snapshot.NamespacedName(v.Object.Namespace, v.Object.Name))
		}
	}
	byDefault := snapshot.NamespacedName("default", t.name)
	switch {
	case slices.Contains(found, byDefault) || len(found) == 0:
		t.name = byDefault
	case len(found) == 1:
		t.name = found[0]
	default:
		line := fmt.Sprintf("%s %s is in %d namespaces; say which: %s", t.kind, t.name, len(found), strings.Join(found, ", "))
		return t, &Problem{Error: line, Candidates: found}
	}
	return t, nil
}

// kind returns the proper name of a kind as a user wrote it. Documents of kinds
// that are not served have verdicts too, under their own kind.
func (a *api) kind(text string) string {
	if k, ok := ResolveKind(text); ok {
		return k.Name
	}
	for _, v := range a.Reporter.Verdicts("") {
		if strings.EqualFold(v.Object.Kind, text) {
			return v.Object.Kind
		}
	}
	return text
}

// complete returns the verdict with empty lists in place of nil ones, so that
// their JSON form is always [].
func complete(v verdict.Verdict) verdict.Verdict {
	if v.Steps == nil {
		v.Steps = []verdict.Step{}
	}
	if v.Resources == nil {
		v.Resources = []verdict.Resource{}
	}
	if v.Proxies.Refused == nil {
		v.Proxies.Refused = []verdict.Refusal{}
	}
	return v
}
