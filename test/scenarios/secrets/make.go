//go:build ignore

// Make writes the Secrets of this directory: "go run secrets/make.go" in
// test/scenarios. Scenarios happen on 2026-01-02, whatever the clock says.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

var (
	start = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)
	long  = tlsutil.Validity{NotBefore: start, NotAfter: start.AddDate(100, 0, 0)}
)

func until(year int, month time.Month, day int) tlsutil.Validity {
	return tlsutil.Validity{NotBefore: start, NotAfter: time.Date(year, month, day, 0, 0, 0, 0, time.UTC)}
}

func main() {
	log.SetFlags(0)
	shop := pair(long, "shop.example", "www.shop.example")
	write("shop", "shop", shop)
	write("shop", "api", pair(long, "api.example"))
	write("shop", "wildcard", pair(long, "*.shop.example"))
	write("shop", "expired", pair(until(2026, time.January, 1), "shop.example"))
	write("shop", "expiring", pair(until(2026, time.January, 9), "api.example"))
	write("shop", "mismatched", tlsutil.Pair{Cert: shop.Cert, Key: pair(long, "shop.example").Key})
	write("certs", "shared", pair(long, "shared.example"))
}

func pair(v tlsutil.Validity, names ...string) tlsutil.Pair {
	p, err := tlsutil.SelfSigned(v, names...)
	if err != nil {
		log.Fatal(err)
	}
	return p
}

func write(namespace, name string, p tlsutil.Pair) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# A TEST KEY, made for test/scenarios by make.go. It is public and protects nothing.
apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: %s}
type: kubernetes.io/tls
stringData:
  tls.crt: |
%s  tls.key: |
%s`, name, namespace, indent(p.Cert), indent(p.Key))
	if err := os.WriteFile("secrets/"+name+".yaml", b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

func indent(pem []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(pem)) {
		b.WriteString("    " + line)
	}
	return b.String()
}
