package xdsserve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	status_v3 "google.golang.org/genproto/googleapis/rpc/status"
)

// desk is a session whose proxy and clock are the test.
type desk struct {
	t       *testing.T
	catalog catalog
	session *session
	now     time.Time
	opts    Options
	out     []*discovery_v3.DeltaDiscoveryResponse // unanswered
	staged  []key
	lines   []string // what went out since the last call of sent
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, catalog: catalog{groups: map[string]*shelf{}}, now: time.Unix(1000, 0), opts: Options{}.withDefaults()}
	d.connect(memory{})
	return d
}

func (d *desk) connect(m memory) {
	d.session, d.out = newSession("p", "g", &d.opts, &d.catalog, m, d.now), nil
}

// thing is a resource; its name begins with its kind: s, c, e, l or t.
func thing(name, version string, uses ...string) Resource {
	r := Resource{Name: nameOf(name), Group: "g", Version: version, Body: []byte(version)}
	for _, u := range uses {
		r.Uses = append(r.Uses, nameOf(u))
	}
	return r
}

func slow(r Resource) Resource {
	r.SlowToWarm = true
	return r
}

func nameOf(name string) Name {
	kinds := map[byte]kind{'s': secrets, 'c': clusters, 'e': endpoints, 'l': listeners, 't': tables}
	return Name{Type: kinds[name[0]].Type(), Name: name}
}

func (d *desk) publish(rs ...Resource) {
	d.stage(rs...)
	d.step(nil)
}

// stage publishes without a step: the session sees it together with what comes next.
func (d *desk) stage(rs ...Resource) {
	d.catalog.seq++
	for _, r := range rs {
		k, _ := d.catalog.set(r, d.now)
		d.staged = append(d.staged, k)
	}
}

func (d *desk) withdraw(names ...string) {
	d.catalog.seq++
	var changed []key
	for _, n := range names {
		k, _ := d.catalog.remove(Scoped{"g", nameOf(n)})
		changed = append(changed, k)
	}
	d.step(changed)
}

// ask is a request without an answer; kept are "name@version".
func (d *desk) ask(k kind, names []string, kept ...string) {
	req := &discovery_v3.DeltaDiscoveryRequest{
		TypeUrl: string(k.Type()), ResourceNamesSubscribe: names, InitialResourceVersions: map[string]string{},
	}
	for _, v := range kept {
		name, version, _ := strings.Cut(v, "@")
		req.InitialResourceVersions[name] = version
	}
	d.step(nil, req)
}

func (d *desk) step(changed []key, reqs ...*discovery_v3.DeltaDiscoveryRequest) {
	s := d.session
	s.begin(d.now)
	for _, k := range append(d.staged, changed...) {
		s.changed(k)
	}
	d.staged = nil
	for _, r := range reqs {
		if err := s.receive(r); err != nil {
			d.t.Fatal(err)
		}
	}
	s.pump()
	for _, a := range s.take() {
		switch {
		case a.response != nil:
			d.out = append(d.out, a.response)
			d.lines = append(d.lines, summary(a.response))
		case a.event.Kind == WarmTimedOut:
			d.lines = append(d.lines, "late "+a.event.Names[0])
		}
	}
}

func summary(r *discovery_v3.DeltaDiscoveryResponse) string {
	var words []string
	for _, res := range r.GetResources() {
		version := res.GetVersion()
		if strings.HasPrefix(version, "interim-") {
			version = string(res.GetResource().GetValue())
		}
		words = append(words, res.GetName()+"@"+version)
	}
	for _, name := range r.GetRemovedResources() {
		words = append(words, "-"+name)
	}
	return strings.Join(words, " ")
}

// answer acknowledges the unanswered responses that carry a name, or refuses them
// with a message.
func (d *desk) answer(name, message string) {
	d.t.Helper()
	i := slices.IndexFunc(d.out, func(r *discovery_v3.DeltaDiscoveryResponse) bool {
		return slices.ContainsFunc(strings.Fields(summary(r)), func(w string) bool {
			return strings.HasPrefix(w, name+"@") || w == "-"+name
		})
	})
	if i < 0 {
		d.t.Fatalf("no unanswered response carries %s", name)
	}
	req := &discovery_v3.DeltaDiscoveryRequest{TypeUrl: d.out[i].GetTypeUrl(), ResponseNonce: d.out[i].GetNonce()}
	if message != "" {
		req.ErrorDetail = &status_v3.Status{Message: message}
	}
	d.out = slices.Delete(d.out, i, i+1)
	d.step(nil, req)
}

// ackAll acknowledges until nothing is unanswered.
func (d *desk) ackAll() {
	for len(d.out) > 0 {
		r := d.out[0]
		d.out = d.out[1:]
		d.step(nil, &discovery_v3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
	}
}

func (d *desk) pass(t time.Duration) {
	d.now = d.now.Add(t)
	if next := d.session.next; !next.IsZero() && !next.After(d.now) {
		d.step(nil)
	}
}

// sent compares what went out since the last call.
func (d *desk) sent(want ...string) {
	d.t.Helper()
	if !slices.Equal(d.lines, want) {
		d.t.Errorf("sent %q, want %q", d.lines, want)
	}
	d.lines = nil
}

// awaits compares what the proxy still owes an answer for; for nothing, all is settled.
func (d *desk) awaits(want ...string) {
	d.t.Helper()
	var got []string
	for _, r := range d.session.open {
		got = append(got, r.name)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		d.t.Errorf("waits for %q, want %q", got, want)
	}
	if len(want) == 0 && d.session.settled != d.catalog.seq {
		d.t.Errorf("settled %d of %d", d.session.settled, d.catalog.seq)
	}
}

// settled is a desk whose proxy has a cluster, a table and a listener.
func settled(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.publish(thing("c1", "1", "e1"), thing("e1", "1"), thing("t1", "1", "c1"), thing("l1", "1", "t1"))
	d.ask(clusters, nil)
	d.ask(endpoints, []string{"e1"})
	d.ask(listeners, nil)
	d.ask(tables, []string{"t1"})
	d.sent("c1@1", "e1@1", "l1@1", "t1@1")
	d.ackAll()
	return d
}

func TestHoldEndsWithItsFirstDeadline(t *testing.T) {
	d := settled(t)
	d.publish(slow(thing("c2", "1")), thing("t1", "2", "c2"))
	d.sent("c2@1")
	d.pass(1900 * time.Millisecond)
	d.publish(slow(thing("c3", "1")), thing("t1", "3", "c2", "c3"))
	d.sent("c3@1")
	d.pass(99 * time.Millisecond)
	d.sent()
	d.pass(time.Millisecond)
	d.sent("late t1", "t1@3")
	d.answer("t1", "")
	d.publish(thing("t1", "4", "c2", "c3"))
	d.sent("t1@4") // it uses them already
}

func TestListenerWaitsForItsTablesClusters(t *testing.T) {
	d := settled(t)
	d.publish(slow(thing("c2", "1")), thing("t2", "1", "c2"), thing("l2", "1", "t2"), thing("l3", "1", "t1"))
	d.withdraw("l1")
	d.sent("c2@1", "l3@1") // l1 stays, because l2 may be its successor on a port
	d.answer("c2", "")
	d.sent("l2@1 -l1")
}

func TestEndpointsGoAtOnce(t *testing.T) {
	d := settled(t)
	d.publish(slow(thing("c2", "1")), thing("t1", "2", "c2"))
	d.sent("c2@1")
	d.publish(thing("e1", "2"))
	d.sent("e1@2")
}

func TestChangesOfOneResourceMerge(t *testing.T) {
	d := settled(t)
	for i := range 10 {
		d.publish(thing("t1", fmt.Sprint(i+2), "c1"))
	}
	d.sent("t1@2")
	d.answer("t1", "")
	d.sent("t1@11")
}

// The endpoints follow a changed cluster, and what came of it unasked is not sent
// again when the proxy asks before it answers.
func TestEndpointsFollowTheirCluster(t *testing.T) {
	d := settled(t)
	d.publish(thing("c1", "2", "e1"))
	d.sent("c1@2", "e1@1")
	d.ackAll()
	d.publish(thing("c2", "1", "e2"), thing("e2", "1"))
	d.sent("c2@1", "e2@1")
	d.ask(endpoints, []string{"e2"})
	d.sent()
	d.ackAll()
	d.ask(endpoints, []string{"e2"}) // it came too early, and was lost
	d.sent("e2@1")
}

// A listener of a response that was refused as a whole may be there though the
// proxy does not say so: withdrawn, it leaves explicitly on the next stream.
func TestGhostLeavesOnTheNextStream(t *testing.T) {
	d := settled(t)
	d.publish(thing("l2", "1", "t1"), thing("l3", "bad", "t1"))
	d.answer("l2", "l3 is bad")
	d.lines = nil
	d.connect(d.session.remember())
	d.withdraw("l2", "l3")
	d.ask(clusters, nil, "c1@1")
	d.ask(endpoints, []string{"e1"}, "e1@1")
	d.ask(listeners, nil, "l1@1")
	d.ask(tables, []string{"t1"}, "t1@1")
	d.sent("-l2 -l3")
}

// The proxy may have applied a version of a listener that it does not list, and
// refuses the next. A table that only the listed version uses is then not waited
// for, and what the table used leaves; once something else uses it, it is.
func TestTableOfAListenerInDoubtIsNotAwaited(t *testing.T) {
	d := settled(t)
	d.publish(thing("c2", "1"), thing("t1", "2", "c2"), thing("t2", "1", "c1"),
		thing("l1", "2", "t2"), thing("l2", "bad", "t1"))
	d.answer("l1", "l2 is bad") // it applied l1@2, recorded l1@1, and uses t2 alone
	d.lines = nil
	d.connect(d.session.remember())
	d.stage(thing("t1", "3", "c1"), thing("l1", "bad", "t1"))
	d.withdraw("c2", "l2")
	d.ask(clusters, nil, "c1@1", "c2@1")
	d.ask(endpoints, []string{"e1"}, "e1@1")
	d.ask(listeners, nil, "l1@1")
	d.ask(tables, []string{"t2"})
	d.answer("l1", "l1 is bad")
	d.ackAll()
	d.awaits()
	d.pass(time.Minute)
	d.ackAll()
	d.sent("l1@bad -l2", "t2@1", "-l2", "-c2")

	d.publish(thing("l3", "1", "t1"))
	d.ackAll()
	d.awaits("t1")
	d.ask(tables, []string{"t1"})
	d.ackAll()
	d.awaits()
	d.sent("l3@1", "t1@3")
}

func TestRefusalOutlivesTheStream(t *testing.T) {
	d := settled(t)
	d.publish(thing("t1", "bad", "c1"))
	d.answer("t1", "no")
	d.lines = nil
	d.connect(d.session.remember())
	d.ask(clusters, nil, "c1@1")
	d.ask(endpoints, []string{"e1"}, "e1@1")
	d.ask(listeners, nil, "l1@1")
	d.ask(tables, []string{"t1"}, "t1@1")
	d.sent()
	d.publish(thing("t1", "good", "c1"))
	d.sent("t1@good")
}

// While the new version of a listener waits for its table, the earlier one
// serves, and what it uses stays.
func TestWarmingListenerKeepsTheOldTable(t *testing.T) {
	d := settled(t)
	d.publish(thing("l1", "2", "t2"), thing("c2", "1"), thing("t2", "1", "c2"))
	d.withdraw("t1", "c1", "e1")
	d.sent("c2@1", "l1@2")
	d.ackAll()
	d.pass(time.Hour)
	d.sent()
	d.ask(tables, []string{"t2"})
	d.ackAll()
	d.pass(time.Second)
	d.ackAll()
	d.pass(time.Second)
	d.ackAll()
	d.pass(time.Second)
	d.sent("t2@1", "-t1", "-c1", "-e1")
}
