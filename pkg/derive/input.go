package derive

import (
	"fmt"
	"reflect"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Input is a collection of the View, by its name there. Of [*store.OnDemand]
// values it shows the metadata; [Body] reads the body. Values, metadata and bodies
// that are not of type V are a programming error: Eval panics.
func Input[V any](g *Graph, collection string) Collection[V] {
	return Collection[V]{g.add(&node{name: collection, kind: inputNode, check: checkInput[V]})}
}

func checkInput[V any](v any) error {
	values := []any{v}
	if o, ok := v.(*store.OnDemand); ok {
		values[0] = o.Meta()
		if body, read := o.Body(); read {
			values = append(values, body)
		}
	}
	for _, v := range values {
		if _, ok := v.(V); !ok {
			return fmt.Errorf("is a %T, and the graph reads it as %s", v, reflect.TypeFor[V]())
		}
	}
	return nil
}

// meta returns what is known of a value without its body.
func meta(v any) any {
	if o, ok := v.(*store.OnDemand); ok {
		return o.Meta()
	}
	return v
}

// inputChanges puts the differences of two Views into changes, by node id.
func (g *Graph) inputChanges(from, to store.View, changes [][]change) {
	for d := range store.Diff(from, to) {
		for _, n := range g.inputs[d.Collection] {
			changes[n.id] = append(changes[n.id], change{d.Name, d.Old, d.New, d.Old != nil, d.New != nil})
		}
	}
}

// evaluateInput checks that what came into an input can be read as it will be.
func (e *evaluation) evaluateInput(n *node) {
	for _, c := range e.changes[n.id] {
		if !c.has {
			continue
		}
		if err := n.check(c.new); err != nil {
			panic(misuse("input %s %q %v", n.name, c.key, err))
		}
	}
}
