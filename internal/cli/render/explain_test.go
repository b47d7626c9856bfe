package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a cluster knows of a deployment, each in a line.
func TestExplainFromACluster(t *testing.T) {
	route := &Route{User: "bob", Deployment: "orders", NamedBy: "login", Database: "postgres"}
	const first = "user bob · deployment orders · pooled no\n"
	const database = "database: postgres when the client names none (psql sends the login; it is replaced)\n"
	ready, not := Endpoint{"10.0.0.1:5432", true}, Endpoint{"10.0.0.2:5432", false}
	for name, c := range map[string]struct {
		in   Explained
		want string
	}{
		"one endpoint": {
			Explained{Server: "10.0.0.1:5432", Service: "shop/db", Endpoints: []Endpoint{ready, not}},
			"→ 10.0.0.1:5432, the endpoint of Service shop/db\n" + database +
				"endpoint 10.0.0.1:5432: ready\nendpoint 10.0.0.2:5432: not ready: no new sessions, but those that are there stay\n",
		},
		"several": {
			Explained{Server: "10.0.0.1:5432", Service: "shop/db", Endpoints: []Endpoint{ready, {"10.0.0.3:5432", true}}},
			"→ 10.0.0.1:5432, or another of the 2 ready endpoints of Service shop/db\n" + database +
				"endpoint 10.0.0.1:5432: ready\nendpoint 10.0.0.3:5432: ready\n",
		},
		"by name": {
			Explained{Server: "db.shop.svc.cluster.local:5432", Service: "shop/db", Passthrough: true},
			"→ db.shop.svc.cluster.local:5432, by the name of Service shop/db, which has no EndpointSlice\n" +
				"TLS passes through: the host name alone routes, and nothing is rewritten\n",
		},
		"nobody is ready": {
			Explained{Service: "shop/db", Endpoints: []Endpoint{not}, Refusal: &Refusal{Severity: "FATAL", SQLSTATE: "57P03", Message: "no"}, Problems: []string{"Service x/y is wrong"}},
			"refused: FATAL: no (SQLSTATE 57P03)\nserved by Service shop/db\n" +
				"endpoint 10.0.0.2:5432: not ready: no new sessions, but those that are there stay\nproblem: Service x/y is wrong\n",
		},
		"many problems": {
			Explained{Service: "shop/db", Refusal: &Refusal{Severity: "FATAL", SQLSTATE: "57P03", Message: "no"}, Problems: make([]string, maxKnown+3)},
			"refused: FATAL: no (SQLSTATE 57P03)\nserved by Service shop/db\n" + strings.Repeat("problem: \n", maxKnown) + "there are 3 more problems\n",
		},
	} {
		c.in.Route = route
		if diff := cmp.Diff(first+c.want, Explain(plain, c.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
