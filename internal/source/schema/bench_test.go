package schema

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

const benchRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: checkout, namespace: shop}
spec:
  parentRefs:
  - name: edge
  hostnames: [shop.example]
  rules:
  - matches:
    - path: {type: PathPrefix, value: /checkout}
      headers:
      - {name: x-canary, value: "1"}
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier:
        set: [{name: x-a, value: b}]
    backendRefs:
    - {name: checkout, port: 80, weight: 90}
    - {name: checkout-canary, port: 80, weight: 10}
  - backendRefs:
    - {name: checkout, port: 80}
`

func benchmarkDecode(b *testing.B, text string) {
	v := New(Options{Open: func(f snapshot.Feature) bool { return f == snapshot.FeatureXBackend }})
	doc := Split([]byte(text))[0]
	v.Decode(doc, nil)
	b.ReportAllocs()
	for b.Loop() {
		v.Decode(doc, nil)
	}
}

func BenchmarkDecodeHTTPRoute(b *testing.B) { benchmarkDecode(b, benchRoute) }

func BenchmarkDecodeRefusedHTTPRoute(b *testing.B) {
	benchmarkDecode(b, benchRoute+"  - backendRefs: [{nam: x}]\n")
}

func BenchmarkDecodeBrokenYAML(b *testing.B) { benchmarkDecode(b, benchRoute+" broken: [\n") }

func BenchmarkDecodeService(b *testing.B) {
	benchmarkDecode(b, "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n")
}

func BenchmarkFirstHTTPRoute(b *testing.B) {
	doc := Split([]byte(benchRoute))[0]
	for b.Loop() {
		New(Options{}).Decode(doc, nil)
	}
}
