package xdsserve_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// refusals returns what the one proxy refuses, "name: message".
func refusals(r *rig) []string {
	var all []string
	for _, x := range r.Ledger(group)[0].Refused {
		all = append(all, x.Name.Name+": "+x.Message)
	}
	return all
}

// One bad table among good ones is found, named and alone in it.
func TestOneBadTable(t *testing.T) {
	a, b, port := backend(t, "a"), backend(t, "b"), freePort(t)
	start := shop(t, port, a)
	for i := range 5 {
		name := fmt.Sprint("t", i)
		start = append(start, table(t, name, "a"), listener(t, "l"+name, freePort(t), name, "s"))
	}
	r, _ := oneEnvoy(t, xdsserve.Options{}, append(start, cluster(t, "b", b)...)...)
	mark := r.log.mark()
	change := []xdsserve.Resource{badTable(t, "t3", "b"), table(t, "t", "b")}
	for _, i := range []int{0, 1, 2, 4} {
		change = append(change, table(t, fmt.Sprint("t", i), "b"))
	}
	r.set(change...)
	got := refusals(r)
	if len(got) != 1 || !strings.HasPrefix(got[0], "t3: ") || len(got[0]) < 20 {
		t.Fatalf("refused: %q, want t3 with Envoy's message", got)
	}
	if origins := r.Ledger(group)[0].Refused[0].Origins; !slices.Equal(origins, []string{"origin of t3"}) {
		t.Errorf("origins %q", origins)
	}
	if got := ask(httpClient(t), local(port)); got != "200 b" {
		t.Errorf("the good table: %q, want 200 b", got)
	}
	if v := r.Versions(group, "envoy-0")[change[0].Name]; v != table(t, "t3", "a").Version {
		t.Errorf("the refused table is believed to be at %q, want its previous version", v)
	}
	// The refused version is not sent again; its successor goes alone.
	before := sentOf(r, "t3")
	r.set(table(t, "t", "a"))
	if n := sentOf(r, "t3"); n != before {
		t.Errorf("the refused table was sent %d times more", n-before)
	}
	r.set(table(t, "t3", "b"))
	if got := refusals(r); len(got) > 0 {
		t.Errorf("after the repair: refused %q\n%s", got, lines(r.log.since(mark)))
	}
}

// sentOf counts how often a name was sent.
func sentOf(r *rig, name string) int {
	n := 0
	for _, e := range r.log.since(0) {
		if e.Kind == xdsserve.Sent && slices.Contains(e.Names, name) {
			n++
		}
	}
	return n
}

// One bad cluster, refused by meaning or by form, among good ones.
func TestOneBadCluster(t *testing.T) {
	for name, spoil := range map[string]func(*envoy_cluster_v3.Cluster){
		"by meaning": func(c *envoy_cluster_v3.Cluster) { c.LbPolicy = envoy_cluster_v3.Cluster_CLUSTER_PROVIDED },
		"by form":    func(c *envoy_cluster_v3.Cluster) { c.ConnectTimeout = durationpb.New(-time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			a, port := backend(t, "a"), freePort(t)
			r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, port, a)...)
			bad := edsCluster("bad")
			spoil(bad)
			change := concat(cluster(t, "b", a), cluster(t, "c", a), cluster(t, "d", a))
			change = append(change, resource(t, xdsserve.Cluster, "bad", bad, names(xdsserve.Endpoints, "bad")...))
			r.set(change...)
			if got := refusals(r); len(got) != 1 || !strings.HasPrefix(got[0], "bad: ") {
				t.Fatalf("refused: %q, want bad", got)
			}
			st := r.Standing(group, names(xdsserve.Cluster, "b", "c", "d")...)
			if st.Acknowledged != 1 || st.Total != 1 || len(st.Refusals) > 0 {
				t.Errorf("the good clusters: %+v", st)
			}
			if st := r.Standing(group, names(xdsserve.Cluster, "b", "bad")...); st.Acknowledged != 0 || len(st.Refusals) != 1 {
				t.Errorf("with the bad cluster: %+v", st)
			}
			mark := r.log.mark()
			r.Publish(xdsserve.Update{Remove: scoped(xdsserve.Cluster, "bad")})
			r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Cluster, "bad"))
		})
	}
}

// While the table that moves away is refused, the cluster that it leaves stays.
func TestRefusedMoveKeepsTheCluster(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	r, _ := oneEnvoy(t, xdsserve.Options{Grace: time.Millisecond}, shop(t, port, a)...)
	l := startLoad(t, local(port))
	u := set(append(cluster(t, "b", a), badTable(t, "t", "b"))...)
	u.Remove = append(scoped(xdsserve.Cluster, "a"), scoped(xdsserve.Endpoints, "a")...)
	r.settle(r.Publish(u), 1)
	l.more(t, 100)
	mark := r.log.mark()
	r.Publish(set(table(t, "t", "b")))
	r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Cluster, "a"))
	l.more(t, 30)
	l.only(t, "200 a")
}

// A port that somebody else has is a refusal until Retry.
func TestPortInUseThenRetry(t *testing.T) {
	a := backend(t, "a")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := taken.Addr().(*net.TCPAddr).Port
	l := listenerMessage(t, "m", port, "t", "s")
	r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, freePort(t), a)...)
	r.set(resource(t, xdsserve.Listener, "m", l, names(xdsserve.Routes, "t")...), listener(t, "l", freePort(t), "t", "s"))
	if got := refusals(r); len(got) != 1 || !strings.Contains(got[0], "in use") {
		t.Fatalf("refused: %q, want m for its address in use", got)
	}
	must(t, taken.Close())
	mark := r.log.mark()
	r.Retry(scoped(xdsserve.Listener, "m", "l")...)
	r.log.untilEvent(mark, is(xdsserve.Acknowledged, xdsserve.Listener, "m"))
	if got := ask(httpClient(t), local(port)); got != "200 a" {
		t.Errorf("after the retry: %q, want 200 a", got)
	}
	if st := r.Standing(group, names(xdsserve.Listener, "m")...); st.Acknowledged != 1 {
		t.Errorf("after the retry: %+v", st)
	}
}
