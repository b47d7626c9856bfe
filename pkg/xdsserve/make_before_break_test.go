package xdsserve_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// shop is a listener with one table and one cluster.
func shop(t *testing.T, port, backendPort int) []xdsserve.Resource {
	t.Helper()
	return concat(cluster(t, "a", backendPort), []xdsserve.Resource{
		table(t, "t", "a"), listener(t, "l", port, "t", "s"),
	})
}

func local(port int) string { return fmt.Sprintf("http://127.0.0.1:%d/", port) }

func scoped(typ xdsserve.Type, names ...string) []xdsserve.Scoped {
	var all []xdsserve.Scoped
	for _, n := range names {
		all = append(all, xdsserve.Scoped{Group: group, Name: xdsserve.Name{Type: typ, Name: n}})
	}
	return all
}

// A table moves to a new cluster and the old one goes, in one Publish.
func TestClusterSwitchUnderLoad(t *testing.T) {
	ports, port := map[string]int{"a": backend(t, "a"), "b": backend(t, "b")}, freePort(t)
	r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, port, ports["a"])...)
	l := startLoad(t, local(port))
	from, to := "a", "b"
	for range 6 {
		mark := r.log.mark()
		r.Publish(xdsserve.Update{
			Set:    append(cluster(t, to, ports[to]), table(t, "t", to)),
			Remove: append(scoped(xdsserve.Cluster, from), scoped(xdsserve.Endpoints, from)...),
		})
		r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Cluster, from))
		l.more(t, 30)
		if got, want := ask(httpClient(t), local(port)), "200 "+to; got != want {
			t.Fatalf("after the switch: %q, want %q", got, want)
		}
		from, to = to, from
	}
	l.only(t, "200 a", "200 b")
}

// Changes of one thing each, under load: each is to cost no request.
func TestChangesUnderLoad(t *testing.T) {
	a, b := backend(t, "a"), backend(t, "b")
	for name, change := range map[string]func(t *testing.T, port, i int) xdsserve.Update{
		"endpoints swapped": func(t *testing.T, _, i int) xdsserve.Update {
			return set(eds(t, "a", []int{b, a}[i%2]))
		},
		"cluster changed in place": func(t *testing.T, _, i int) xdsserve.Update {
			c := edsCluster("a")
			c.ConnectTimeout = durationpb.New(time.Duration(i+2) * time.Second)
			return set(resource(t, xdsserve.Cluster, "a", c, names(xdsserve.Endpoints, "a")...))
		},
		"listener changed": func(t *testing.T, port, i int) xdsserve.Update {
			return set(listener(t, "l", port, "t", fmt.Sprint("s", i)))
		},
		"listener moved to a new table": func(t *testing.T, port, i int) xdsserve.Update {
			tables := []string{"t", "u"}
			from, to := tables[i%2], tables[(i+1)%2]
			u := set(listener(t, "l", port, to, fmt.Sprint("s", i)), table(t, to, "a"))
			u.Remove = scoped(xdsserve.Routes, from)
			return u
		},
		"listener renamed on its port": func(t *testing.T, port, i int) xdsserve.Update {
			listeners := []string{"l", "m"}
			from, to := listeners[i%2], listeners[(i+1)%2]
			u := set(listener(t, to, port, "t", "s"))
			u.Remove = scoped(xdsserve.Listener, from)
			return u
		},
	} {
		t.Run(name, func(t *testing.T) {
			port := freePort(t)
			r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, port, a)...)
			l := startLoad(t, local(port))
			for i := range 5 {
				r.settle(r.Publish(change(t, port, i)), 1)
				l.more(t, 40)
			}
			if refused := r.Ledger(group)[0].Refused; len(refused) > 0 {
				t.Errorf("refused: %v", refused)
			}
			l.only(t, "200 a", "200 b")
		})
	}
}

func set(rs ...xdsserve.Resource) xdsserve.Update { return xdsserve.Update{Set: rs} }

// What goes out for a switch, in which order, and when the old cluster leaves.
func TestOrderOfASwitch(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, port, a)...)
	mark := r.log.mark()
	r.Publish(xdsserve.Update{
		Set:    append(cluster(t, "b", a), table(t, "t", "b")),
		Remove: append(scoped(xdsserve.Cluster, "a"), scoped(xdsserve.Endpoints, "a")...),
	})
	left := r.log.untilEvent(mark, removes(xdsserve.Sent, xdsserve.Cluster, "a"))
	var order []string
	for _, e := range r.log.since(mark) {
		if e.Kind == xdsserve.Sent {
			order = append(order, line(e))
		}
	}
	want := []string{"sent Cluster b", "sent ClusterLoadAssignment b", "sent RouteConfiguration t", "sent Cluster -a"}
	if !slices.Equal(order, want) {
		t.Errorf("sent in the order\n%q\nwant\n%q", order, want)
	}
	moved := r.log.untilEvent(mark, is(xdsserve.Acknowledged, xdsserve.Routes, "t"))
	if d := left.At.Sub(moved.At); d < 190*time.Millisecond {
		t.Errorf("the cluster left %v after the table, want at least the grace of 200ms", d)
	}
}

// A cluster that is wanted again before the grace is over is neither removed nor sent.
func TestClusterBackDuringGraceIsKept(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, port, a)...)
	mark := r.log.mark()
	u := set(append(cluster(t, "b", a), table(t, "t", "b"))...)
	u.Remove = append(scoped(xdsserve.Cluster, "a"), scoped(xdsserve.Endpoints, "a")...)
	r.settle(r.Publish(u), 1)
	r.set(append(cluster(t, "a", a), table(t, "t", "a"))...)
	// The removal of b ends the grace of both.
	r.Publish(xdsserve.Update{Remove: scoped(xdsserve.Cluster, "b")})
	r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Cluster, "b"))
	for _, e := range r.log.since(mark) {
		if e.Kind == xdsserve.Sent && slices.Contains(append(e.Names, e.Removed...), "a") {
			t.Errorf("unneeded: %s", line(e))
		}
	}
}
