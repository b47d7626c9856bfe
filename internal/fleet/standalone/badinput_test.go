package standalone

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// badDocuments are what a user can write instead of the spec of Proxy default/victim,
// and what is said of it, besides file and line.
var badDocuments = map[string]struct{ text, field, says string }{
	"no YAML":               {"spec: [", "", "not YAML: did not find"},
	"a tab":                 {"metadata:\n\tname: victim", "", "cannot start any token"},
	"a list":                {"- a\n- b", "", "no Kubernetes object"},
	"binary":                {"a\x00b", "", "not UTF-8"},
	"no kind":               {"apiVersion: egress.gatehouse.dev/v1alpha1\nmetadata: {name: victim}", "kind", "missing"},
	"no name":               {"apiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxy\nmetadata: {}\nspec: {mode: Managed, provider: process}", "metadata.name", "missing"},
	"a misspelt kind":       {"apiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxi\nmetadata: {name: victim}", "kind", "did you mean Proxy"},
	"another version":       {"apiVersion: egress.gatehouse.dev/v1\nkind: Proxy\nmetadata: {name: victim}", "apiVersion", "egress.gatehouse.dev/v1alpha1"},
	"another group":         {"apiVersion: v1\nkind: Proxy\nmetadata: {name: victim}", "kind", "egress.gatehouse.dev/v1alpha1"},
	"a bad name":            {"apiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxy\nmetadata: {name: Victim_}\nspec: {mode: Managed, provider: process}", "metadata.name", "lower"},
	"a field twice":         {victim("{mode: Managed, mode: Managed, provider: process}"), "mode", "twice"},
	"an unknown field":      {victim("{mode: Managed, provider: process, porvider: x}"), "spec.porvider", "unknown field"},
	"no spec":               {victim("{}"), "spec", "mode"},
	"no provider":           {victim("{mode: Managed}"), "spec", "provider is required"},
	"an unknown provider":   {victim("{mode: Managed, provider: aws}"), "spec.provider", `"aws"`},
	"an unknown mode":       {victim("{mode: Mixed}"), "spec.mode", `"Mixed"`},
	"a port as text":        {victim(`{mode: Managed, provider: process, endpoint: {port: "x"}}`), "spec.endpoint.port", "integer"},
	"a port too high":       {victim("{mode: Managed, provider: process, endpoint: {port: 70000}}"), "spec.endpoint.port", "65535"},
	"a port too low":        {victim("{mode: Managed, provider: process, endpoint: {port: -1}}"), "spec.endpoint.port", "1"},
	"an unknown scheme":     {victim("{mode: Managed, provider: process, endpoint: {scheme: ftp}}"), "spec.endpoint.scheme", `"ftp"`},
	"a host of our own":     {victim("{mode: Managed, provider: process, endpoint: {host: a.example}}"), "spec", "only for mode External"},
	"External without host": {victim("{mode: External}"), "spec", "endpoint.host is required"},
	"External and provider": {victim("{mode: External, provider: process, endpoint: {host: a.example}}"), "spec", "only for mode Managed"},
	"auth without a name":   {victim(`{mode: Managed, provider: process, auth: {secretRef: {name: ""}}}`), "spec.auth.secretRef.name", "at least 1"},
	"auth as text":          {victim("{mode: Managed, provider: process, auth: px-auth}"), "spec.auth", "must be of type object"},
	"a duration as text":    {victim("{mode: Managed, provider: process, lifecycle: {drainTimeout: soon}}"), "spec.lifecycle.drainTimeout", "soon"},
	"another provider":      {victim("{mode: Managed, provider: gcp, zone: europe-west1-b, machineType: e2-micro, image: debian}"), "spec", "provider cannot change"},
	"another mode":          {victim("{mode: External, endpoint: {host: a.example}}"), "spec", "mode cannot change"},
}

// victim is a document of Proxy default/victim.
func victim(spec string) string {
	return "apiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxy\nmetadata: {name: victim}\nspec: " + spec + "\n"
}

// TestWrongDocumentsLoseNothing: each gives a line with file, line, field and remedy,
// and what was accepted before stays as it was, also after a restart.
func TestWrongDocumentsLoseNothing(t *testing.T) {
	m := newMachine(t)
	good := victim("{mode: Managed, provider: process}")
	m.write("others.yaml", managed("a")+managed("b")+managed("c"))
	m.write("victim.yaml", good)
	m.start()
	m.eventually("created", m.finalized("a", "victim"))
	before := m.proxy("victim")
	for name, c := range badDocuments {
		t.Run(name, func(t *testing.T) {
			m.t = t
			m.write("victim.yaml", c.text)
			m.eventually("refused", func() bool { return m.said(c.field, c.says) })
			if p := m.proxy("victim"); p == nil || p.UID != before.UID || p.Generation != before.Generation || p.DeletionTimestamp != nil {
				t.Errorf("is now %+v", p)
			}
			m.write("victim.yaml", good)
			m.eventually("accepted again", func() bool { return !m.said("", "") })
		})
	}
	m.t = t
	m.write("victim.yaml", "spec: [")
	m.end()
	m.start()
	m.eventually("refused after the restart", func() bool { return m.said("", "not YAML") })
	if p := m.proxy("victim"); p == nil || p.UID != before.UID || p.DeletionTimestamp != nil {
		t.Errorf("after the restart %+v", p)
	}
}

// said reports whether something is refused, with these texts in one line that names
// the file.
func (m *machine) said(field, text string) bool {
	fleet, err := m.fleet.Fleet(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	for _, line := range refusals(fleet) {
		if strings.Contains(line, field) && strings.Contains(line, text) && strings.Contains(line, "victim.yaml:") {
			return true
		}
	}
	return false
}

// refusals are all, a line each.
func refusals(f explain.Fleet) (lines []string) {
	for _, p := range f.Problems {
		lines = append(lines, fmt.Sprintf("%s:%d %s: %s", p.File, p.Line, p.Field, p.Message))
	}
	for _, k := range f.Proxies {
		for _, s := range k.Refusals {
			if s.Outcome == verdict.WasRejected {
				lines = append(lines, s.Field+": "+s.Message)
			}
		}
	}
	return lines
}

// TestDuplicatesAreTold: the first document in order of files counts.
func TestDuplicatesAreTold(t *testing.T) {
	m := newMachine(t)
	m.write("1.yaml", managed("a"))
	m.write("2.yaml", strings.Replace(managed("a"), "process}", "process, endpoint: {port: 4000}}", 1))
	m.start()
	m.eventually("created", m.finalized("a"))
	m.eventually("told", m.logged("defined first in"))
	if e := m.proxy("a").Spec.Endpoint; e != nil {
		t.Errorf("the second counts: port %d", e.Port)
	}
}
