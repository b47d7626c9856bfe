package xdsserve_test

import (
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// shop is a listener with one table and one cluster.
func shop(t *testing.T, port, backendPort int) []xdsserve.Resource {
	t.Helper()
	return concat(cluster(t, "a", backendPort), []xdsserve.Resource{
		table(t, "t", "a"), listener(t, "l", port, "t", "s"),
	})
}

// A table moves to a new cluster and the old one goes, in one Publish.
func TestClusterSwitchUnderLoad(t *testing.T) {
	a, b, port := backend(t, "a"), backend(t, "b"), freePort(t)
	r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, port, a)...)
	url := fmt.Sprintf("http://127.0.0.1:%d/", port)
	l := startLoad(t, url)
	l.more(t, 50)
	from, to := "a", "b"
	ports := map[string]int{"a": a, "b": b}
	for range 6 {
		mark := r.log.mark()
		r.Publish(xdsserve.Update{
			Set:    append(cluster(t, to, ports[to]), table(t, "t", to)),
			Remove: []xdsserve.Scoped{scoped(xdsserve.Cluster, from), scoped(xdsserve.Endpoints, from)},
		})
		r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Cluster, from))
		l.more(t, 30)
		if got, want := ask(httpClient(t), url), "200 "+to; got != want {
			t.Fatalf("after the switch: %q, want %q", got, want)
		}
		from, to = to, from
	}
	l.only(t, "200 a", "200 b")
}

func scoped(typ xdsserve.Type, name string) xdsserve.Scoped {
	return xdsserve.Scoped{Group: group, Name: xdsserve.Name{Type: typ, Name: name}}
}
