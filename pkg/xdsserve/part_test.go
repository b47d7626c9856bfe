package xdsserve

import (
	"strings"
	"testing"
	"time"
)

// parted is a table of parts, each "name:version:cluster"; its body is "(part)(part)".
func parted(name string, parts ...string) Resource {
	r := Resource{Name: nameOf(name), Group: "g", Body: []byte("(")}
	for i, p := range parts {
		if i > 0 {
			r.Body = append(r.Body, ")("...)
		}
		words := strings.Split(p, ":")
		r.add(Part{Name: words[0], To: len(p), Uses: []Name{nameOf(words[2])}}, []byte(p))
	}
	r.Body = append(r.Body, ')')
	r.Version = string(r.Body)
	return r
}

// partly is a desk whose proxy has a table of the parts a and b, with a slow cluster
// on its way that nothing uses yet.
func partly(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.publish(thing("c1", "1"), parted("t1", "a:1:c1", "b:1:c1"), thing("l1", "1", "t1"))
	d.ask(clusters, nil)
	d.ask(endpoints, []string{"e1"})
	d.ask(listeners, nil)
	d.ask(tables, []string{"t1"})
	d.ackAll()
	d.publish(slow(thing("c2", "1")))
	d.lines = nil
	return d
}

// A part waits for its own cluster, and the others do not wait for it: they come and
// go and change. A part that is new is not there before its cluster is.
func TestPartsWaitAlone(t *testing.T) {
	d := partly(t)
	d.publish(parted("t1", "a:2:c2", "b:2:c1"))
	d.sent("t1@(a:1:c1)(b:2:c1)")
	d.publish(parted("t1", "a:2:c2", "b:3:c1", "n:1:c2"))
	d.sent() // one at a time
	d.answer("t1", "")
	d.sent("t1@(a:1:c1)(b:3:c1)()")
	d.answer("t1", "")
	d.publish(parted("t1", "a:2:c2", "n:1:c2"))
	d.sent("t1@(a:1:c1)()")
	d.answer("t1", "")
	d.awaits("c2", "t1")
	d.answer("c2", "")
	d.sent("t1@(a:2:c2)(n:1:c2)")
	d.ackAll()
	d.awaits()
}

// What went ahead does not lengthen the wait.
func TestPartsWaitNoLongerThanTheWhole(t *testing.T) {
	d := partly(t)
	d.publish(parted("t1", "a:2:c2", "b:1:c1"))
	d.sent() // it has all that it may have
	d.pass(1500 * time.Millisecond)
	d.publish(parted("t1", "a:2:c2", "b:2:c1"))
	d.answer("t1", "")
	d.sent("t1@(a:1:c1)(b:2:c1)")
	d.pass(500 * time.Millisecond)
	d.sent("late t1", "t1@(a:2:c2)(b:2:c1)")
}

// What a waiting part uses stays until the part has moved.
func TestPartThatWaitsKeepsItsCluster(t *testing.T) {
	d := partly(t)
	d.stage(thing("c3", "1"), parted("t1", "a:2:c2", "b:2:c3"))
	d.withdraw("c1")
	d.sent("c3@1", "t1@(a:1:c1)(b:2:c3)")
	d.answer("t1", "")
	d.pass(time.Second)
	d.sent()
	d.answer("c2", "")
	d.answer("t1", "")
	d.pass(time.Second)
	d.sent("t1@(a:2:c2)(b:2:c3)", "-c1")
}

// A refused mixture is not tried again: the table waits as a whole, and has its own
// verdict when it comes.
func TestRefusedMixture(t *testing.T) {
	d := partly(t)
	d.publish(parted("t1", "a:2:c2", "b:bad:c1"))
	d.answer("t1", "b is bad")
	d.publish(parted("t1", "a:3:c2", "b:bad:c1"))
	d.sent("t1@(a:1:c1)(b:bad:c1)")
	d.answer("c2", "")
	d.answer("t1", "b is bad")
	d.sent("t1@(a:3:c2)(b:bad:c1)")
	d.awaits()
	if got := d.session.refused; len(got) != 1 {
		t.Errorf("%d refused, want the table", len(got))
	}
}

// On a new stream it is not known which parts the proxy has: it waits as a whole.
func TestMixtureOfAnEarlierStream(t *testing.T) {
	d := partly(t)
	d.publish(parted("t1", "a:2:c2", "b:2:c1"))
	d.answer("t1", "")
	mixture := "t1@" + d.session.records[tables]["t1"].held.Version
	d.connect(d.session.remember())
	d.lines = nil
	d.ask(clusters, nil, "c1@1")
	d.ask(endpoints, []string{"e1"})
	d.ask(listeners, nil, "l1@1")
	d.ask(tables, []string{"t1"}, mixture)
	d.publish(parted("t1", "a:2:c2", "b:3:c1"))
	d.sent("c2@1")
	d.answer("c2", "")
	d.sent("t1@(a:2:c2)(b:3:c1)")
}
