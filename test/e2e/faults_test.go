package e2e

import (
	"strings"
	"testing"
)

// writes is a step of a fault: a file replaced.
func writes(file, text string) func(*testing.T, *stage) {
	return func(t *testing.T, s *stage) { t.Helper(); s.write(t, file, text) }
}

// serving is a first state in which a host is served.
func serving(file, text string, hosts map[string]string) func(*testing.T, *stage) {
	return func(t *testing.T, s *stage) {
		t.Helper()
		s.write(t, file, text)
		s.serves(t, hosts)
	}
}

const badRules = `  - matches: [{path: {type: RegularExpression, value: "/("}}]
    backendRefs: [{name: green, port: 80}]
`

// TestFaultsOfTheCompiler: schema-valid objects that the compiler refuses, documents
// that do not validate, and one object written at two versions.
func TestFaultsOfTheCompiler(t *testing.T) {
	green := map[string]string{"victim": "green"}
	blue := map[string]string{"victim": "blue"}
	victim := func(rules string) string { return route("victim", "http", "victim"+domain, rules) }
	s := startSteady(t)
	for _, f := range []fault{
		{
			name:   "a new object that does not compile",
			inject: writes("victim.yaml", victim(badRules)), rejected: "httproute e2e/victim", says: "invalid regular expression",
			not: []string{"victim"}, repair: writes("victim.yaml", victim(`  - `+to("blue"))), then: blue,
		},
		{
			name:   "a served object that does not compile any more",
			before: serving("victim.yaml", victim(`  - `+to("green")), green),
			inject: writes("victim.yaml", victim(badRules)), rejected: "httproute e2e/victim", says: "invalid regular expression",
			still: green, repair: writes("victim.yaml", victim(`  - `+to("blue"))), then: blue,
		},
		{
			name:   "a document that does not validate",
			before: serving("victim.yaml", victim(`  - `+to("green")), green),
			inject: writes("victim.yaml", victim(`  - backendRef: [{name: red, port: 80}]`)), rejected: "httproute e2e/victim", says: "backendRef",
			still: green, repair: writes("victim.yaml", victim(`  - `+to("blue"))), then: blue,
		},
		{
			name:   "an object that is written at another version and turns bad there",
			before: serving("victim.yaml", victim(`  - `+to("green")), green),
			inject: writes("victim.yaml", atBeta(victim(badRules))), rejected: "httproute e2e/victim", says: "invalid regular expression",
			still: green, repair: writes("victim.yaml", atBeta(victim(`  - `+to("blue")))), then: blue,
		},
		{
			name: "an object that files have at two versions, and the one that counts turns bad",
			before: func(t *testing.T, s *stage) {
				t.Helper()
				s.write(t, "victim.yaml", victim(`  - `+to("green")))
				s.serves(t, green)
				s.write(t, "zz-victim-beta.yaml", atBeta(victim(`  - `+to("blue"))))
			},
			inject: writes("victim.yaml", victim(badRules)), rejected: "httproute e2e/victim", says: "invalid regular expression",
			still: green, repair: func(t *testing.T, s *stage) { t.Helper(); s.remove(t, "victim.yaml") }, then: blue,
		},
	} {
		t.Run(f.name, func(t *testing.T) { f.run(t, s) })
	}
}

// atBeta writes an HTTPRoute at the other version that is served.
func atBeta(text string) string {
	return strings.Replace(text, "gateway.networking.k8s.io/v1\n", "gateway.networking.k8s.io/v1beta1\n", 1)
}
