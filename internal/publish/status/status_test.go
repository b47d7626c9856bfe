package status_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

func condition(kind string, value meta_v1.ConditionStatus) meta_v1.Condition {
	return meta_v1.Condition{Type: kind, Status: value, Reason: "Because"}
}

func programmedOf(conditions []meta_v1.Condition) string {
	for _, c := range conditions {
		if c.Type == "Programmed" {
			return string(c.Status) + " " + c.Reason
		}
	}
	return "absent"
}

func TestProgrammedFollowsProxies(t *testing.T) {
	gateway := verdict.Status{Listeners: []verdict.ListenerStatus{
		{Name: "good", Resource: "one"}, {Name: "busy", Resource: "two"}, {Name: "new", Resource: "three"}, {Name: "bad"},
	}}
	facts := status.Facts{Listeners: map[string]status.Programmed{
		"one": {Done: true},
		"two": {Reason: gateway_v1.ListenerReasonPortUnavailable, Message: "in use"},
	}}

	got := status.Complete(gateway, facts, 3)

	want := map[string]string{
		"good": "True Programmed", "busy": "False PortUnavailable", "new": "False Pending", "bad": "False Invalid",
	}
	have := map[string]string{}
	for _, l := range got.Listeners {
		have[l.Name] = programmedOf(l.Conditions)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
	if programmedOf(got.Conditions) != "True Programmed" {
		t.Errorf("gateway = %s, want programmed by one listener", programmedOf(got.Conditions))
	}
}

func TestGatewayIsNotProgrammedBeforeAnyListener(t *testing.T) {
	for name, test := range map[string]struct {
		listeners []verdict.ListenerStatus
		want      string
	}{
		"none acknowledged": {[]verdict.ListenerStatus{{Name: "a", Resource: "one"}}, "False Pending"},
		"none valid":        {[]verdict.ListenerStatus{{Name: "a"}}, "False Invalid"},
	} {
		got := status.Complete(verdict.Status{Listeners: test.listeners}, status.Facts{}, 1)
		if programmedOf(got.Conditions) != test.want {
			t.Errorf("%s: %s, want %s", name, programmedOf(got.Conditions), test.want)
		}
	}
}

func TestConditionsThatCompileDecidedWin(t *testing.T) {
	held := condition("Programmed", meta_v1.ConditionFalse)
	s := verdict.Status{Listeners: []verdict.ListenerStatus{{Resource: "one", Conditions: []meta_v1.Condition{held}}}}

	got := status.Complete(s, status.Facts{Listeners: map[string]status.Programmed{"one": {Done: true}}}, 1)

	if programmedOf(got.Listeners[0].Conditions) != "False Because" {
		t.Errorf("listener = %s, want what compile decided", programmedOf(got.Listeners[0].Conditions))
	}
}

func TestTransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	ref := verdict.Ref{Collection: "HTTPRoute", Name: "shop/a"}
	memory := status.NewTransitions()
	start := time.Unix(1000, 0)
	at := func(value meta_v1.ConditionStatus, now time.Time) time.Time {
		s := verdict.Status{Parents: []verdict.ParentStatus{{Ref: parentNamed("edge"), Conditions: []meta_v1.Condition{condition("Accepted", value)}}}}
		return memory.Stamp(ref, s, now).Parents[0].Conditions[0].LastTransitionTime.Time
	}

	first := at(meta_v1.ConditionTrue, start)
	same := at(meta_v1.ConditionTrue, start.Add(time.Minute))
	flipped := at(meta_v1.ConditionFalse, start.Add(2*time.Minute))

	if !same.Equal(first) || !flipped.Equal(start.Add(2*time.Minute)) {
		t.Errorf("times %v, %v, %v", first, same, flipped)
	}
}

func TestTransitionTimeStaysWithTheParentThatMoves(t *testing.T) {
	ref := verdict.Ref{Collection: "HTTPRoute", Name: "shop/a"}
	memory := status.NewTransitions()
	parent := func(name gateway_v1.ObjectName, value meta_v1.ConditionStatus) verdict.ParentStatus {
		return verdict.ParentStatus{Ref: parentNamed(name), Conditions: []meta_v1.Condition{condition("Accepted", value)}}
	}
	a, b := parent("a", meta_v1.ConditionTrue), parent("b", meta_v1.ConditionFalse)
	first := memory.Stamp(ref, verdict.Status{Parents: []verdict.ParentStatus{a, b}}, time.Unix(1000, 0))

	swapped := memory.Stamp(ref, verdict.Status{Parents: []verdict.ParentStatus{b, a}}, time.Unix(2000, 0))

	if got, want := swapped.Parents[1].Conditions[0].LastTransitionTime, first.Parents[0].Conditions[0].LastTransitionTime; !got.Equal(&want) {
		t.Errorf("time of parent a = %v, want %v as before", got, want)
	}
}

func TestForeignParentsStay(t *testing.T) {
	foreign := gateway_v1.RouteParentStatus{ControllerName: "example.com/other", ParentRef: gateway_v1.ParentReference{Name: "theirs"}}
	stale := gateway_v1.RouteParentStatus{ControllerName: "gatehouse.dev/gateway-controller", ParentRef: gateway_v1.ParentReference{Name: "gone"}}
	route := &gateway_v1.HTTPRoute{}
	route.Status.Parents = []gateway_v1.RouteParentStatus{foreign, stale}

	got := status.Object(route, verdict.Status{Parents: []verdict.ParentStatus{{Ref: parentNamed("ours")}}}, status.Facts{}, "gatehouse.dev/gateway-controller")

	var parents []string
	for _, p := range got.(*gateway_v1.HTTPRoute).Status.Parents {
		parents = append(parents, string(p.ParentRef.Name))
	}
	if diff := cmp.Diff([]string{"theirs", "ours"}, parents); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	if len(route.Status.Parents) != 2 {
		t.Error("the observed object was changed")
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	secret := &core_v1.Secret{
		Annotations: map[string]string{"a": "b", core_v1.LastAppliedConfigAnnotation: "hidden"},
		Data:        map[string][]byte{"tls.key": []byte("hidden")}, StringData: map[string]string{"tls.key": "hidden"},
	}
	observed := secret.DeepCopy()

	got, err := json.Marshal(status.Object(secret, verdict.Status{}, status.Facts{}, "x"))

	want := `{"metadata":{"annotations":{"a":"b"}},"data":{"tls.key":"redacted"}}`
	if string(got) != want || err != nil {
		t.Errorf("told %s, error %v, want %s", got, err, want)
	}
	if diff := cmp.Diff(observed, secret); diff != "" {
		t.Errorf("the observed object was changed (-want +got):\n%s", diff)
	}
}

func TestRefusedRevisionIsNotAccepted(t *testing.T) {
	s := verdict.Status{Parents: []verdict.ParentStatus{
		{Conditions: []meta_v1.Condition{condition("Accepted", meta_v1.ConditionTrue), condition("ResolvedRefs", meta_v1.ConditionTrue)}},
		{Conditions: []meta_v1.Condition{{Type: "Accepted", Status: meta_v1.ConditionFalse, Reason: "NotAllowedByListeners", Message: "no"}}},
	}}

	got := status.Refused(s, "too large", "nothing of it serves")

	want := []meta_v1.Condition{
		{Type: "Accepted", Status: meta_v1.ConditionFalse, Reason: "UnsupportedValue", Message: "too large; nothing of it serves"},
		condition("ResolvedRefs", meta_v1.ConditionTrue),
		{Type: "Accepted", Status: meta_v1.ConditionFalse, Reason: "NotAllowedByListeners", Message: "no; nothing of it serves"},
	}
	have := slices.Concat(got.Parents[0].Conditions, got.Parents[1].Conditions)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

// TestRefusedRevisionIsNotPartiallyInvalid: the condition must not be set on a route that
// is not accepted; a policy and a Gateway are refused in the words of their kinds.
func TestRefusedRevisionIsNotPartiallyInvalid(t *testing.T) {
	s := verdict.Status{
		Conditions: []meta_v1.Condition{condition("Accepted", meta_v1.ConditionTrue)},
		Ancestors:  []verdict.AncestorStatus{{Conditions: []meta_v1.Condition{condition("Accepted", meta_v1.ConditionTrue)}}},
		Parents:    []verdict.ParentStatus{{Conditions: []meta_v1.Condition{condition("Accepted", meta_v1.ConditionTrue), condition("PartiallyInvalid", meta_v1.ConditionTrue)}}},
	}

	got := status.Refused(s, "bad", "generation 3 keeps serving")

	refused := func(reason string) []meta_v1.Condition {
		return []meta_v1.Condition{{Type: "Accepted", Status: meta_v1.ConditionFalse, Reason: reason, Message: "bad; generation 3 keeps serving"}}
	}
	want := slices.Concat(refused("Invalid"), refused("Invalid"), refused("UnsupportedValue"))
	if diff := cmp.Diff(want, slices.Concat(got.Conditions, got.Ancestors[0].Conditions, got.Parents[0].Conditions)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

// TestFellBackAtEachParent: where the accepted revision is attached its conditions count,
// and elsewhere the new one is not accepted.
func TestFellBackAtEachParent(t *testing.T) {
	at := func(name gateway_v1.ObjectName, generation int64) verdict.ParentStatus {
		c := condition("Accepted", meta_v1.ConditionTrue)
		c.ObservedGeneration = generation
		return verdict.ParentStatus{Ref: parentNamed(name), Conditions: []meta_v1.Condition{c}}
	}
	accepted, refused := verdict.Status{Parents: []verdict.ParentStatus{at("edge", 3)}}, verdict.Status{Parents: []verdict.ParentStatus{at("edge", 4), at("new", 4)}}

	got := status.FellBack(refused, accepted, status.Fallback{Generation: 4, Cause: "bad", Serves: "generation 3 keeps serving"}).Parents

	want := []meta_v1.Condition{
		at("edge", 3).Conditions[0],
		{Type: "PartiallyInvalid", Status: meta_v1.ConditionTrue, ObservedGeneration: 4, Reason: "UnsupportedValue", Message: "Fall Back: generation 3 keeps serving, for bad"},
		{Type: "Accepted", Status: meta_v1.ConditionFalse, ObservedGeneration: 4, Reason: "UnsupportedValue", Message: "bad; generation 3 keeps serving, not here"},
	}
	if diff := cmp.Diff(want, slices.Concat(got[0].Conditions, got[1].Conditions)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func parentNamed(name gateway_v1.ObjectName) gateway_v1.ParentReference {
	return gateway_v1.ParentReference{Name: name}
}

func TestParentsAreAsManyAsAStatusHolds(t *testing.T) {
	route := &gateway_v1.HTTPRoute{}
	route.Status.Parents = []gateway_v1.RouteParentStatus{{ControllerName: "example.com/other", ParentRef: parentNamed("theirs")}}
	s := verdict.Status{Parents: make([]verdict.ParentStatus, 40)}

	got := status.Object(route, s, status.Facts{}, "gatehouse.dev/gateway-controller").(*gateway_v1.HTTPRoute).Status.Parents

	if len(got) != 32 || got[0].ParentRef.Name != "theirs" {
		t.Errorf("%d entries, the first of %s; want 32, the first of theirs", len(got), got[0].ParentRef.Name)
	}
}
