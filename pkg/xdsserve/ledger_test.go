package xdsserve_test

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// A Standing counts the proxies that have the published version of every name.
func TestStanding(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	h.Publish(set(fake(xdsserve.Cluster, "c", "1"), fake(xdsserve.Cluster, "d", "1")))
	p, q := h.join("p", xdsserve.Cluster), h.join("q", xdsserve.Cluster)
	p.ack(p.expect(xdsserve.Cluster, "c", "d"))
	q.ack(q.expect(xdsserve.Cluster, "c", "d"))
	h.settle(1, 2)
	both := names(xdsserve.Cluster, "c", "d")
	if st := h.Standing(group, both...); st.Acknowledged != 2 || st.Total != 2 || st.Seq != 1 || st.At.Before(st.Published) {
		t.Errorf("when both have it: %+v", st)
	}
	seq := h.Publish(set(fake(xdsserve.Cluster, "d", "2")))
	if st := h.Standing(group, both...); st.Acknowledged != 0 || st.Seq != seq {
		t.Errorf("just after a Publish: %+v", st)
	}
	p.ack(p.expect(xdsserve.Cluster, "d"))
	q.send(nack(q.expect(xdsserve.Cluster, "d"), "no"))
	h.settle(seq, 2)
	st := h.Standing(group, both...)
	if st.Acknowledged != 1 || len(st.Refusals) != 1 || st.Refusals[0].Proxy != "q" || st.Refusals[0].Message != "no" {
		t.Errorf("when one refuses: %+v", st)
	}
	if st := h.Standing(group, names(xdsserve.Cluster, "c")...); st.Acknowledged != 2 || st.Seq != 1 {
		t.Errorf("of the other: %+v", st)
	}
	h.Publish(xdsserve.Update{Remove: scoped(xdsserve.Cluster, "c")})
	if st := h.Standing(group, names(xdsserve.Cluster, "c")...); st.Acknowledged != 0 || st.Seq != 0 {
		t.Errorf("while the withdrawn one is still there: %+v", st)
	}
	p.ack(p.expect(xdsserve.Cluster))
	q.ack(q.expect(xdsserve.Cluster))
	h.log.until(func([]xdsserve.Event) bool {
		return h.Standing(group, names(xdsserve.Cluster, "c")...).Acknowledged == 2
	})
}

// An unchanged resource keeps its version's number and reaches nobody; that it comes
// from something else now is known.
func TestPublishingTheSameAgain(t *testing.T) {
	h := newHall(t, xdsserve.Options{})
	c := fake(xdsserve.Cluster, "c", "1")
	h.Publish(set(c))
	p := h.join("p", xdsserve.Cluster)
	p.send(nack(p.expect(xdsserve.Cluster, "c"), "no"))
	h.settle(1, 1)
	c.Origins = []string{"another"}
	h.settle(h.Publish(set(c)), 1)
	if st := h.Standing(group, c.Name); st.Seq != 1 || len(st.Refusals) != 1 || st.Refusals[0].Origins[0] != "another" {
		t.Errorf("%+v, want one refusal of number 1, with the new origin", st)
	}
	h.Publish(set(fake(xdsserve.Cluster, "d", "1")))
	p.expect(xdsserve.Cluster, "d")
}
