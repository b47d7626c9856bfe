package scenarios

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

const valuesWorld = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: gatehouse}
spec: {controllerName: gatehouse.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: gatehouse
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: tls, protocol: TLS, port: 443, tls: {mode: Passthrough}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: good, namespace: shop}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [good.example]
  rules: [{backendRefs: [{name: app, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: app-1, namespace: shop, labels: {kubernetes.io/service-name: app}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
`

// attempt is a value in a place, in the objects whose names end in its number.
type attempt struct {
	place
	value, word string // the value, and how it is written
}

// attempts are all values in all places.
func attempts(t *testing.T) []attempt {
	t.Helper()
	var all []attempt
	for _, p := range texts {
		for _, v := range strange {
			if p.field == "accessLog" && isNewFile(v) {
				continue
			}
			word, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, attempt{p, v, strings.ReplaceAll(string(word), "\x7f", `\u007f`)})
		}
	}
	for _, p := range amounts {
		for _, v := range numbers {
			all = append(all, attempt{p, v, v})
		}
	}
	return all
}

// isNewFile tells that Envoy, asked about a log of this name, would make the file.
func isNewFile(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.HasSuffix(path, "/") && !strings.HasSuffix(path, ".") && !strings.HasPrefix(path, "/dev/")
}

// write is the objects of an attempt. Each Gateway has a port of its own.
func (a attempt) write(n int) []byte {
	text := strings.NewReplacer("@V@", a.word, "@N@", strconv.Itoa(n)).Replace(a.object)
	port := "port: " + strconv.Itoa(10_000+n)
	return []byte(strings.NewReplacer("port: 8080", port, "port: 8443", port).Replace(text))
}

// TestValues puts values that are strange somewhere into every field that means
// more than its schema says. Whatever becomes of it is said of the field, in one
// line; what stands beside it serves; and a real Envoy takes what is left. It runs
// the same few hundred each time, and with GATEHOUSE_EXPLORE=1 all of them.
func TestValues(t *testing.T) {
	const few = 500
	all := attempts(t)
	if os.Getenv("GATEHOUSE_EXPLORE") == "" {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		all = all[:few]
	}
	files := map[string][]byte{"world.yaml": []byte(valuesWorld)}
	for n, a := range all {
		files[fmt.Sprintf("v%05d.yaml", n)] = a.write(n)
	}
	o, err := Run(t.TempDir(), files, Options{Experimental: true, XBackend: true})
	if err != nil {
		t.Fatal(err)
	}
	explained(t, o)
	said := map[int][]verdict.Verdict{}
	for _, v := range o.reporter.Verdicts("") {
		n, err := strconv.Atoi(strings.TrimLeft(v.Object.Name, "cose"))
		switch {
		case err == nil:
			said[n] = append(said[n], v)
		case v.State != verdict.Serving:
			t.Errorf("%s %s is %s among bad values: %v", v.Object.Kind, v.Object.Name, v.State, v.Steps)
		}
	}
	for n, a := range all {
		a.judge(t, said[n])
	}
	asked := suspects{}
	asked.add(t, "strange values", o.Resources())
	newProof(t).check(t, o.Resources())
	asked.check(t)
}

// judge demands that where an object of an attempt does not serve as it is
// written, the field is named.
func (a attempt) judge(t *testing.T, said []verdict.Verdict) {
	t.Helper()
	named, serves := false, true
	for _, v := range said {
		serves = serves && v.State == verdict.Serving
		for _, s := range v.Steps {
			if strings.ContainsFunc(s.Message, unicode.IsControl) {
				t.Errorf("%q in %s: the message takes more than one line: %q", a.value, a.field, s.Message)
			}
			named = named || s.Outcome != verdict.OK && (strings.Contains(s.Field, a.field) || strings.Contains(s.Message, a.field))
		}
	}
	if !serves && !named {
		t.Errorf("%q in %s is not served and the field is not named: %v", a.value, a.field, said)
	}
}
