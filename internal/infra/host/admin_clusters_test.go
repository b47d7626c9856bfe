package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClustersWithHosts(t *testing.T) {
	page := `{"cluster_statuses":[
		{"name":"lost"},
		{"name":"found","host_statuses":[{"address":{"socket_address":{"address":"127.0.0.1","port_value":1}}}]},
		{"name":"idle","host_statuses":[]}]}`

	got, err := parseClustersWithHosts([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"found"}, got); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
}
