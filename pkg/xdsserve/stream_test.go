package xdsserve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

func TestStateOfTheWorldIsUnimplemented(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	s, err := discovery_v3.NewAggregatedDiscoveryServiceClient(h.conn).StreamAggregatedResources(t.Context())
	must(t, err)
	_, err = s.Recv()
	if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "DELTA_GRPC") {
		t.Errorf("error %v, want Unimplemented that names DELTA_GRPC", err)
	}
}

func TestStreamsEndWithAReason(t *testing.T) {
	for name, c := range map[string]struct {
		first *discovery_v3.DeltaDiscoveryRequest
		want  codes.Code
		text  string
		event xdsserve.EventKind
	}{
		"no node id": {&discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(xdsserve.Cluster)}, codes.InvalidArgument, "node.id", xdsserve.Unidentified},
		"too many names": {&discovery_v3.DeltaDiscoveryRequest{
			Node: &envoy_core_v3.Node{Id: "p"}, TypeUrl: string(xdsserve.Endpoints), ResourceNamesSubscribe: many("e", 11),
		}, codes.ResourceExhausted, "10", xdsserve.Disconnected},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, xdsserve.Options{MaxNames: 10})
			p := h.connect()
			p.send(c.first)
			_, err := p.stream.Recv()
			if status.Code(err) != c.want || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want %v about %s", err, c.want, c.text)
			}
			h.log.untilEvent(0, func(e xdsserve.Event) bool {
				return e.Kind == c.event && strings.Contains(e.Message, c.text) && e.Exhausted == (c.want == codes.ResourceExhausted)
			})
		})
	}
}

func many(prefix string, n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s%05d", prefix, i))
	}
	return names
}

// A proxy that never answers gets one version of each resource, and the newest
// when it answers at last.
func TestNeverAcknowledges(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	h.Publish(set(fake(xdsserve.Routes, "t", "0"), fake(xdsserve.Cluster, "c", "0")))
	p := h.join("p", xdsserve.Cluster)
	p.expect(xdsserve.Cluster, "c")
	p.subscribe(xdsserve.Routes, "t")
	held := p.expect(xdsserve.Routes, "t")
	for i := range 5000 {
		h.Publish(set(fake(xdsserve.Routes, "t", fmt.Sprint(i+1)), fake(xdsserve.Cluster, "c", fmt.Sprint(i+1))))
	}
	p.ack(held)
	if v := p.expect(xdsserve.Routes, "t").GetResources()[0].GetVersion(); v != "5000" {
		t.Errorf("version %s after the answer, want the newest", v)
	}
	if b := h.Ledger(group)[0]; b.Behind != 2 || b.Seq != 0 {
		t.Errorf("ledger %+v, want two unanswered", b)
	}
}

// A proxy that does not even read delays nobody else, and does not keep the Server from closing.
func TestBlockedProxyDelaysNobody(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	big := strings.Repeat("x", 1<<20)
	h.Publish(set(fake(xdsserve.Cluster, "c", big)))
	h.join("blocked", xdsserve.Cluster)
	p := h.join("quick", xdsserve.Cluster)
	p.ack(p.expect(xdsserve.Cluster, "c"))
	for i := range 20 {
		start := time.Now()
		h.Publish(set(fake(xdsserve.Cluster, "c", fmt.Sprint(i, big))))
		p.ack(p.expect(xdsserve.Cluster, "c"))
		if d := time.Since(start); d > 2*time.Second {
			t.Fatalf("the quick proxy waited %v", d)
		}
	}
	closed := make(chan struct{})
	go func() { h.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the Server does not close")
	}
}

// A proxy that refuses everything is sent each version at most twice.
func TestRefusesEverything(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	names := many("c", 200)
	var rs []xdsserve.Resource
	for _, n := range names {
		rs = append(rs, fake(xdsserve.Cluster, n, "v"))
	}
	seq := h.Publish(set(rs...))
	p := h.join("p", xdsserve.Cluster)
	p.send(nack(p.expect(xdsserve.Cluster, names...), "all bad"))
	for _, n := range names {
		p.send(nack(p.expect(xdsserve.Cluster, n), "bad "+n))
	}
	h.settle(seq, 1)
	b := h.Ledger(group)[0]
	if len(b.Refused) != 200 || b.Behind != 0 || b.Refused[7].Message != "bad c00007" {
		t.Fatalf("%d refused, %d behind, %+v", len(b.Refused), b.Behind, b.Refused[7])
	}
	h.Publish(set(fake(xdsserve.Cluster, names[0], "w")))
	p.expect(xdsserve.Cluster, names[0])
}

// Invented, repeated and foreign nonces change nothing.
func TestStaleNonces(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	h.Publish(set(fake(xdsserve.Cluster, "c", "1"), fake(xdsserve.Routes, "t", "1")))
	p := h.join("p", xdsserve.Cluster)
	first := p.expect(xdsserve.Cluster, "c")
	for _, nonce := range []string{"999", "-1", "x", strings.Repeat("9", 1000)} {
		p.send(&discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(xdsserve.Cluster), ResponseNonce: nonce})
	}
	p.send(&discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(xdsserve.Routes), ResponseNonce: first.GetNonce(), ResourceNamesSubscribe: []string{"t"}})
	p.expect(xdsserve.Routes, "t")
	if v := h.Versions(group, "p"); len(v) > 0 {
		t.Errorf("believed %v before any true answer", v)
	}
	p.ack(first)
	p.ack(first)
	p.send(nack(first, "too late"))
	mark := 0
	h.log.untilEvent(mark, is(xdsserve.Acknowledged, xdsserve.Cluster, "c"))
	h.Publish(set(fake(xdsserve.Cluster, "c", "2")))
	p.ack(p.expect(xdsserve.Cluster, "c"))
	h.log.until(func([]xdsserve.Event) bool {
		return h.Versions(group, "p")[xdsserve.Name{Type: xdsserve.Cluster, Name: "c"}] == "2"
	})
	if refused := h.Ledger(group)[0].Refused; len(refused) > 0 {
		t.Errorf("refused %v", refused)
	}
}

func TestUnsubscribed(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	h.Publish(set(fake(xdsserve.Secret, "s", "1"), fake(xdsserve.Secret, "u", "1"), fake(xdsserve.Routes, "t", "1")))
	p := h.join("p", xdsserve.Secret, "s", "u")
	p.ack(p.expect(xdsserve.Secret, "s", "u"))
	p.unsubscribe(xdsserve.Secret, "s")
	p.subscribe(xdsserve.Routes, "t")
	p.expect(xdsserve.Routes, "t") // requests are taken in order
	h.Publish(set(fake(xdsserve.Secret, "s", "2"), fake(xdsserve.Secret, "u", "2")))
	p.ack(p.expect(xdsserve.Secret, "u"))
	p.subscribe(xdsserve.Secret, "s")
	if v := p.expect(xdsserve.Secret, "s").GetResources()[0].GetVersion(); v != "2" {
		t.Errorf("version %s, want 2", v)
	}
}

// Wildcards show a proxy its own group; names also what is shared.
func TestGroups(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	other, shared, sharedCluster := fake(xdsserve.Cluster, "other", "1"), fake(xdsserve.Secret, "s", "shared"), fake(xdsserve.Cluster, "z", "1")
	other.Group, shared.Group, sharedCluster.Group = "elsewhere", "", ""
	h.Publish(set(other, shared, sharedCluster, fake(xdsserve.Cluster, "mine", "1")))
	p := h.join("p", xdsserve.Cluster)
	p.ack(p.expect(xdsserve.Cluster, "mine"))
	p.subscribe(xdsserve.Cluster, "z")
	p.ack(p.expect(xdsserve.Cluster, "z"))
	p.subscribe(xdsserve.Secret, "s")
	p.ack(p.expect(xdsserve.Secret, "s"))
	h.Publish(set(fake(xdsserve.Secret, "s", "mine")))
	mine := p.expect(xdsserve.Secret, "s")
	if v := mine.GetResources()[0].GetVersion(); v != "mine" {
		t.Errorf("version %s, want the group's own", v)
	}
	p.ack(mine)
	h.Publish(xdsserve.Update{Remove: scoped(xdsserve.Secret, "s")})
	if v := p.expect(xdsserve.Secret, "s").GetResources()[0].GetVersion(); v != "shared" {
		t.Errorf("version %s, want the shared one again", v)
	}
}

// Where a proxy would wait for nothing it is told so; where something may come it waits.
func TestNothingThere(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	h.Publish(xdsserve.Update{})
	p := h.join("p", xdsserve.Listener)
	p.ack(p.expect(xdsserve.Listener))
	p.subscribe(xdsserve.Routes, "t")
	p.subscribe(xdsserve.Secret, "s")
	p.subscribe(xdsserve.Cluster, "demanded")
	if resp := p.expect(xdsserve.Cluster); !slices.Equal(resp.GetRemovedResources(), []string{"demanded"}) {
		t.Errorf("removed %q, want the cluster asked for", resp.GetRemovedResources())
	}
	h.Publish(set(fake(xdsserve.Routes, "t", "1"), fake(xdsserve.Secret, "s", "1")))
	p.expect(xdsserve.Secret, "s")
	p.expect(xdsserve.Routes, "t")
}

func TestUnservedTypeIsReported(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	h.Publish(set(fake(xdsserve.Cluster, "c", "1")))
	p := h.join("p", "type.googleapis.com/envoy.service.runtime.v3.Runtime", "r")
	p.subscribe(xdsserve.Cluster)
	p.expect(xdsserve.Cluster, "c")
	h.log.untilEvent(0, is(xdsserve.Unserved, "type.googleapis.com/envoy.service.runtime.v3.Runtime", "r"))
}

// A closed Server refuses streams and may be closed again.
func TestClosed(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	h.Publish(xdsserve.Update{})
	p := h.join("p", xdsserve.Cluster)
	p.expect(xdsserve.Cluster)
	h.Close()
	h.Close()
	if _, err := p.stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("error %v, want Unavailable", err)
	}
	if _, err := h.connect().stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("error of a new stream %v, want Unavailable", err)
	}
}

// A panic in one stream ends that stream only.
func TestPanicEndsItsStream(t *testing.T) {
	fuse := make(chan struct{}, 1)
	fuse <- struct{}{}
	s := xdsserve.New(xdsserve.Options{Observe: func(e xdsserve.Event) {
		if e.Kind == xdsserve.Sent && len(fuse) > 0 {
			<-fuse
			panic("observer")
		}
	}})
	h := serveHall(t, s)
	h.Publish(set(fake(xdsserve.Cluster, "c", "1")))
	p := h.join("p", xdsserve.Cluster)
	p.expect(xdsserve.Cluster, "c")
	if _, err := p.stream.Recv(); status.Code(err) != codes.Internal {
		t.Errorf("error %v, want Internal", err)
	}
	h.join("p", xdsserve.Cluster).expect(xdsserve.Cluster, "c")
}

// A flood of subscriptions, publishes and answers from several proxies at once.
func TestFlood(t *testing.T) {
	h := newHall(t, xdsserve.Options{Grace: time.Millisecond})
	names := many("e", 300)
	for i := range 4 {
		p := h.join(fmt.Sprint("p", i), xdsserve.Cluster)
		go p.flood(names)
	}
	var seq uint64
	for i := range 500 {
		u := set(fake(xdsserve.Endpoints, names[i%300], fmt.Sprint(i)), fake(xdsserve.Cluster, names[i*7%300], fmt.Sprint(i)))
		if i%3 == 0 {
			u.Remove = scoped(xdsserve.Cluster, names[i*5%300])
		}
		seq = h.Publish(u)
	}
	h.settle(seq, 4)
}

// flood answers everything while it subscribes to everything, several times.
func (p *proxy) flood(names []string) {
	for range 20 {
		for _, req := range []*discovery_v3.DeltaDiscoveryRequest{
			{TypeUrl: string(xdsserve.Endpoints), ResourceNamesSubscribe: names},
			{TypeUrl: string(xdsserve.Endpoints), ResourceNamesUnsubscribe: names[:150]},
		} {
			if p.stream.Send(req) != nil {
				return
			}
		}
	}
	for {
		resp, err := p.stream.Recv()
		if err != nil || p.stream.Send(&discovery_v3.DeltaDiscoveryRequest{TypeUrl: resp.GetTypeUrl(), ResponseNonce: resp.GetNonce()}) != nil {
			return
		}
	}
}
