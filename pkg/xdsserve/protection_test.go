package xdsserve

import (
	"testing"
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// A table that moved in a response that was refused as a whole may have moved or
// not: what that version uses stays, even if its successor is refused, until the
// proxy takes a version.
func TestDoubtProtectsWhatItUses(t *testing.T) {
	d := settled(t)
	d.publish(thing("c2", "1"), thing("t2", "1", "c1"), thing("l2", "1", "t2"))
	d.ask(tables, []string{"t2"})
	d.ackAll()
	d.publish(thing("t1", "2", "c2"), thing("t2", "bad", "c1"))
	d.lines = nil
	d.stage(thing("t1", "3", "c1"))
	d.answer("t1", "something is bad")
	d.answer("t1", "3 is bad, too")
	d.withdraw("c2")
	d.pass(time.Hour)
	d.sent("t1@3", "t2@bad")
	d.publish(thing("t1", "4", "c1"))
	d.answer("t1", "")
	d.pass(time.Hour)
	d.sent("t1@4", "-c2")
}

// A proxy says kind by kind what it kept, and may have kept nothing of the first: all
// of that was refused, though it may have applied part of it. What such a version
// uses stays.
func TestKeptByTheKindThatIsToldLater(t *testing.T) {
	d := settled(t)
	d.publish(thing("c2", "1"), thing("t2", "1", "c2"), thing("t3", "bad", "c1"), thing("l1", "2", "t2", "t3"))
	d.ask(tables, []string{"t2", "t3"})
	d.answer("t2", "something is bad")
	d.answer("c2", "")
	d.answer("l1", "")
	d.connect(d.session.remember())
	d.lines = nil
	d.stage(thing("t2", "bad", "c1"))
	d.ask(tables, []string{"t2", "t3"})
	d.ask(listeners, nil, "l1@2")
	d.ask(clusters, nil, "c1@1", "c2@1")
	d.ask(endpoints, []string{"e1"}, "e1@1")
	d.answer("t2", "something is bad, still")
	d.answer("t2", "bad")
	d.answer("t3", "bad")
	d.withdraw("c2")
	d.pass(time.Hour)
	d.sent("t2@bad t3@bad", "t2@bad", "t3@bad")
	d.publish(thing("t2", "3", "c1"))
	d.answer("t2", "")
	d.pass(time.Hour)
	d.sent("t2@3", "-c2")
}

// On a new stream nothing leaves until the proxy has said which tables it kept.
func TestNothingLeavesBeforeTheProxyHasSaidAll(t *testing.T) {
	d := settled(t)
	d.connect(d.session.remember())
	d.lines = nil
	d.publish(thing("c2", "1"), thing("t1", "2", "c2"))
	d.withdraw("c1", "e1")
	d.ask(clusters, nil, "c1@1")
	d.pass(time.Second)
	d.ask(endpoints, []string{"e1"}, "e1@1")
	d.pass(time.Second)
	d.ask(listeners, nil, "l1@1")
	d.pass(time.Second)
	d.sent("c2@1")
	d.ask(tables, []string{"t1"}, "t1@1")
	d.ackAll()
	d.pass(time.Second)
	d.sent("t1@2", "-c1")
}

// What a changed cluster drops has to follow at once, because a server that starts
// meanwhile cannot know that it is owed.
func TestChangedClusterAwaitsTheQuestionForItsEndpoints(t *testing.T) {
	d := settled(t)
	d.connect(memory{})
	d.lines = nil
	d.stage(thing("c1", "2", "e1"), thing("c2", "1", "e2"), thing("e2", "1"))
	d.ask(clusters, nil, "c1@1")
	d.sent("c2@1")
	d.ask(endpoints, []string{"e1"}, "e1@1")
	d.sent("c1@2", "e1@1 e2@1")

	d.connect(memory{})
	d.publish(thing("c1", "3", "e1"))
	d.ask(clusters, nil, "c1@2", "c2@1")
	d.pass(2 * time.Second)
	d.sent("c1@3") // it seems to have had no endpoints
}

// A proxy may be owed the endpoints of a cluster of which it has a version that is
// published no more. Routes wait for the question for them, as for those of others.
func TestRoutesAwaitEndpointsOfAnUnknownCluster(t *testing.T) {
	d := settled(t)
	d.publish(thing("e1", "2"))
	d.connect(d.session.remember())
	d.lines = nil
	d.stage(thing("c1", "2", "e1"), thing("t1", "2", "c1"))
	d.ask(clusters, nil, "c1@1")
	d.ask(tables, []string{"t1"})
	d.sent()
	d.ask(endpoints, []string{"e1"})
	d.sent("c1@2", "e1@2", "t1@2")
}

// A proxy that never says it is not waited for longer than the introduction.
func TestIntroductionEnds(t *testing.T) {
	d := settled(t)
	d.connect(d.session.remember())
	d.lines = nil
	d.withdraw("l1", "t1", "c1", "e1")
	d.ask(clusters, nil, "c1@1")
	d.pass(introduction - time.Second)
	d.sent()
	d.pass(time.Second)
	d.sent("-c1")
}

// What a restarted server does not know the uses of could use everything: until
// it is replaced, no cluster leaves, and neither if its replacement is refused.
func TestUnknownVersionsProtectEverything(t *testing.T) {
	d := newDesk(t)
	d.publish(thing("c2", "1"), thing("t1", "bad", "c2"), thing("l1", "1", "t1"))
	d.ask(clusters, nil, "c1@1", "c2@1")
	d.ask(listeners, nil, "l1@1")
	d.ask(tables, []string{"t1"}, "t1@old")
	d.answer("t1", "no")
	d.pass(time.Hour)
	d.sent("t1@bad")
	d.publish(thing("t1", "good", "c2"))
	d.answer("t1", "")
	d.pass(time.Second)
	d.sent("t1@good", "-c1")
}

// A name that is asked for while an older version is on its way is answered with
// the newest.
func TestAskedForWhileAnOlderVersionIsOnItsWay(t *testing.T) {
	d := settled(t)
	d.publish(thing("e1", "2"))
	d.publish(thing("e1", "3"))
	d.ask(endpoints, []string{"e1"})
	d.sent("e1@2", "e1@3")
}

// A proxy that refuses what follows a cluster gets the endpoints that it had; one
// that had none gets the word that there are none.
func TestRefusedEndpointsDoNotStallTheirCluster(t *testing.T) {
	d := settled(t)
	d.publish(thing("e1", "bad"), thing("c2", "1", "e2"), thing("e2", "bad"))
	d.ask(endpoints, []string{"e2"})
	d.answer("e1", "one is bad")
	d.answer("e1", "bad")
	d.answer("e2", "bad")
	d.ackAll()
	d.lines = nil
	d.publish(thing("c1", "2", "e1"), thing("c2", "2", "e2"))
	d.sent("c1@2 c2@2", "-e2", "e1@1")
}

// A secret that is asked for again goes again before its refusal is known. Envoy takes
// what it refused for applied, and its acknowledgement says nothing: it goes once more,
// behind a blank, and is listed as refused.
func TestSecretRefusedAfterItWentAgain(t *testing.T) {
	d := settled(t)
	d.publish(thing("s1", "bad"), thing("l1", "2", "t1", "s1"))
	d.ask(secrets, []string{"s1"})
	d.step(nil, &discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(Secret), ResourceNamesUnsubscribe: []string{"s1"}})
	d.ask(secrets, []string{"s1"})
	d.lines = nil
	d.answer("s1", "bad")
	d.answer("s1", "")
	d.sent("s1@blank", "s1@bad")
	d.answer("s1", "blank")
	d.answer("s1", "bad")
	if n := len(d.session.refused); n != 1 {
		t.Errorf("%d are listed as refused, want 1", n)
	}
}
