package envoyfacts

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// page is cut from that of a real Envoy, with hosts in every state added.
const page = `backends::observability_name::backends
backends::default_priority::max_connections::1024
backends::added_via_api::false
backends::10.0.1.12:8080::cx_active::0
backends::10.0.1.12:8080::hostname::
backends::10.0.1.12:8080::health_flags::healthy
backends::10.0.1.12:8080::weight::1
backends::10.0.1.11:8080::health_flags::healthy
backends::10.0.1.13:8080::health_flags::/pending_dynamic_removal
backends::10.0.1.14:8080::health_flags::/failed_eds_health
backends::[fd00::1]:8080::health_flags::healthy
backends2::10.0.1.15:8080::health_flags::healthy
endpoint_server::@lab-envoy-endpoints::health_flags::healthy
`

func TestParseHosts(t *testing.T) {
	got, err := parseHosts([]byte(page), "backends")
	if want := "[10.0.1.11 10.0.1.12 fd00::1]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("hosts %v, error %v; want %s", got, err, want)
	}
	if got, err := parseHosts([]byte(page), "absent"); err != nil || len(got) > 0 {
		t.Errorf("hosts of an unknown cluster %v, error %v", got, err)
	}
	if got, err := parseHosts([]byte(page), "endpoint_server"); err == nil || !strings.Contains(err.Error(), "endpoint_server") {
		t.Errorf("hosts %v, error %v; want that its host has no IP address", got, err)
	}
}

// BenchmarkParseHosts: what a page of many hosts costs here.
func BenchmarkParseHosts(b *testing.B) {
	var page strings.Builder
	for n := range 50 {
		for _, line := range []string{"cx_active::0", "cx_total::7", "rq_total::7", "hostname::", "health_flags::healthy", "weight::1"} {
			fmt.Fprintf(&page, "backends::10.0.1.%d:8080::%s\n", n, line)
		}
	}
	text := []byte(page.String())
	b.ReportAllocs()
	for b.Loop() {
		if hosts, err := parseHosts(text, "backends"); err != nil || len(hosts) != 50 || !slices.Contains(hosts, netip.MustParseAddr("10.0.1.49")) {
			b.Fatal(hosts, err)
		}
	}
}
