package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

const rotatingListener = `  - {name: rotating, protocol: HTTPS, port: @TCP@, hostname: "rotating.e2e.test", tls: {certificateRefs: [{name: rotating}]}}
`

// TestBadSecretRotation: a certificate is replaced by something that is no pair, while
// others and the pair that served before keep their traffic.
func TestBadSecretRotation(t *testing.T) {
	s := startSteady(t)
	s.write(t, "gateway.yaml", gateway("edge", httpListener+rotatingListener))
	s.write(t, "rotating.yaml", route("rotating", "rotating", "rotating"+domain, `  - `+to("red")))
	good := s.sealed(t, "rotating", "rotating"+domain)
	s.write(t, "rotating-tls.yaml", good)
	leaf := func() tlsutil.Pair {
		return must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), time.Hour), "rotating"+domain))(t)
	}
	serves := map[string]string{"tls:rotating": "red"}
	s.serves(t, serves)
	for _, f := range []fault{
		{name: "a key of another certificate", inject: writes("rotating-tls.yaml", secretYAML("rotating", leaf().Cert, leaf().Key)), says: "key"},
		{name: "garbage", inject: writes("rotating-tls.yaml", secretYAML("rotating", []byte("nothing"), []byte("at all"))), says: "unusable pair"},
		{name: "a certificate without its key", inject: writes("rotating-tls.yaml", strings.Replace(good, "tls.key", "other.key", 1)), says: "tls.key"},
	} {
		t.Run(f.name, func(t *testing.T) {
			f.rejected, f.still, f.then = "secret e2e/rotating", serves, serves
			f.repair = writes("rotating-tls.yaml", s.sealed(t, "rotating", "rotating"+domain))
			f.run(t, s)
		})
	}
}
