package gatehouse

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/envoyfacts"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// TestEndpointObjects: a slice holds what its API lets it hold, and there is always one.
func TestEndpointObjects(t *testing.T) {
	address := netip.MustParseAddr("10.0.1.1")
	var backends []proxy.Backend
	for count, slices := range map[int]int{0: 1, 1: 1, 1000: 1, 1001: 2} {
		for len(backends) < count {
			backends = append(backends, proxy.Backend{Name: "b", Address: address})
			address = address.Next()
		}
		text, err := endpointObjects(backends[:count])
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), `"EndpointSlice"`); got != slices {
			t.Errorf("%d backends: %d slices, want %d", count, got, slices)
		}
		if got := strings.Count(string(text), `{"addresses":["10.`); got != count {
			t.Errorf("%d backends: %d endpoints", count, got)
		}
		if names := strings.Count(string(text), `"name":"backends-1"`); names != slices-1 {
			t.Errorf("%d backends: the second slice has %d documents", count, names)
		}
	}
}

func TestReadLine(t *testing.T) {
	for line, want := range map[string]envoyfacts.Tried{
		`{"path":"/17","attempts":2}`:     {Request: "17", Attempts: 2},
		`{"path":"/mark/m-1","status":9}`: {Request: "m-1"},
		`{"path":null}`:                   {},
		`no JSON`:                         {},
	} {
		if got, ok := readLine([]byte(line)); got != want || ok != (want.Request != "") {
			t.Errorf("%s: %+v, %t; want %+v", line, got, ok, want)
		}
	}
}

// TestEnvironment: the settings of another Gatehouse are not those of this one.
func TestEnvironment(t *testing.T) {
	got := strings.Join(environment([]string{"PATH=/bin", "GATEHOUSE_CONFIG=/etc", "HOME=/"}), " ")
	if want := "PATH=/bin HOME=/"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
