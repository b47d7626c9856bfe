package envoy

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

var goodPair = sync.OnceValue(func() tlsutil.Pair {
	pair, err := tlsutil.SelfSigned(valid(), "a.example")
	if err != nil {
		panic(err)
	}
	return pair
})

// made is an output with the input that it comes from.
type made struct {
	input string
	of    derive.Collection[Output]
	part  bool // not all values of the input have one, or report their failures there
}

func collections(o Outputs) []made {
	return []made{
		{inListeners, o.Listeners, false},
		{inClusters, o.Clusters, false},
		{inEndpoints, o.Endpoints, false},
		{inCertificates, o.Certificates, false},
		{inTables, o.Tables, true},
		{inTables, o.Rests, true},
		{inHosts, o.Hosts, true},
	}
}

// TestAnyModel: every model value gives a valid resource, or failures that name
// what it came from, or both; never a panic, and the same bytes each time.
func TestAnyModel(t *testing.T) {
	g, outputs := graph(Options{})
	other, otherOutputs := graph(Options{})
	rapid.Check(t, func(t *rapid.T) {
		view := store.View{}.Apply(worlds.Draw(t, "world").edits()...)
		once, twice := g.Eval(derive.State{}, view), other.Eval(derive.State{}, view)
		for _, f := range once.Faults {
			t.Fatalf("%s of %s panicked: %v\n%s", f.Node, f.Key, f.Panic, f.Stack)
		}
		for i, c := range collections(outputs) {
			for key := range view.Prefix(c.input, "") {
				a, ok := derive.Lookup(once.State, c.of, key)
				b, _ := derive.Lookup(twice.State, collections(otherOutputs)[i].of, key)
				if !c.part && (!ok || a.Resource == nil && len(a.Failures) == 0) {
					t.Fatalf("%s %q has neither resource nor failure", c.input, key)
				}
				if !reflect.DeepEqual(a, b) {
					t.Fatalf("%s %q differs the second time:\n%v\n%v", c.input, key, a, b)
				}
				checkOutput(t, a)
			}
		}
		checkTables(t, once.State, outputs, view)
	})
}

// checkTables demands that each table is there in the ways in which it is needed.
func checkTables(t *rapid.T, s derive.State, o Outputs, view store.View) {
	for key, v := range view.Prefix(inTables, "") {
		table := v.(model.RouteTable)
		if _, ok := derive.Lookup(s, o.Tables, key); ok != table.Whole() {
			t.Fatalf("%+v as a whole: %v", table, ok)
		}
		if _, ok := derive.Lookup(s, o.Rests, key); ok != table.ByHost() {
			t.Fatalf("%+v by host: %v", table, ok)
		}
	}
}

func checkOutput(t *rapid.T, o Output) {
	for _, f := range o.Failures {
		if f.Message == "" || f.Type == "" {
			t.Fatalf("a failure that says nothing: %+v", f)
		}
	}
	if o.Resource == nil {
		return
	}
	body, err := Message(*o.Resource)
	if err != nil {
		t.Fatal(err)
	}
	validateDeep(t, body.ProtoReflect())
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(body)
	if err != nil || !slices.Equal(again, inOneGo(*o.Resource)) {
		t.Fatalf("%s %s is not encoded in the deterministic form (%v)", o.Resource.Type, o.Resource.Name.Name, err)
	}
	checkParts(t, *o.Resource)
	if !slices.IsSortedFunc(o.Resource.Uses, compareNames) || !slices.IsSorted(o.Resource.Origins) {
		t.Fatalf("uses or origins are not sorted: %v, %v", o.Resource.Uses, o.Resource.Origins)
	}
	if _, err := JSON(*o.Resource, false); err != nil {
		t.Fatal(err)
	}
}

// validateDeep checks a message and whatever it has in an Any.
func validateDeep(t *rapid.T, m protoreflect.Message) {
	if checked, ok := m.Interface().(message); ok {
		if err := checked.ValidateAll(); err != nil {
			t.Fatal(err)
		}
	}
	if packed, ok := m.Interface().(*anypb.Any); ok {
		inner, err := packed.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		validateDeep(t, inner.ProtoReflect())
		return
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap() && field.MapValue().Message() != nil:
			value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				validateDeep(t, v.Message())
				return true
			})
		case field.IsMap() || field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				validateDeep(t, value.List().Get(i).Message())
			}
		default:
			validateDeep(t, value.Message())
		}
		return true
	})
}

// TestStepwise: translating a changed model from an earlier state equals
// translating it from nothing.
func TestStepwise(t *testing.T) {
	g, outputs := graph(Options{})
	rapid.Check(t, func(t *rapid.T) {
		before, after := store.View{}.Apply(worlds.Draw(t, "before").edits()...), worlds.Draw(t, "after")
		next := before.Apply(after.edits()...)
		stepwise := g.Eval(g.Eval(derive.State{}, before).State, next).State
		fresh := g.Eval(derive.State{}, next).State
		for _, c := range collections(outputs) {
			for key := range next.Prefix(c.input, "") {
				a, _ := derive.Lookup(stepwise, c.of, key)
				b, _ := derive.Lookup(fresh, c.of, key)
				if !a.Equal(b) {
					t.Fatalf("%s %q: stepwise %v, fresh %v", c.input, key, a, b)
				}
			}
		}
	})
}
