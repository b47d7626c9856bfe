package derive_test

import (
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Routes name a host and a service; derived is one line of configuration per host.
func Example() {
	type Route struct{ Host, Service string }

	g := derive.New()
	routes := derive.Input[Route](g, "Route")
	ports := derive.Input[int](g, "Service")
	targets := derive.Map(g, "targets", routes, func(c *derive.Ctx, name string, r Route) (string, bool) {
		port, ok := derive.Get(c, ports, r.Service)
		return fmt.Sprintf("%s:%d", r.Service, port), ok
	})
	byHost := derive.Group(g, "by host", routes, func(_ string, r Route) []string { return []string{r.Host} })
	hosts := derive.Reduce(g, "hosts", byHost, func(c *derive.Ctx, host string) (string, bool) {
		var to []string
		for _, route := range derive.Keys(c, byHost, host) {
			if target, ok := derive.Get(c, targets, route); ok {
				to = append(to, target)
			}
		}
		return strings.Join(to, ", "), true
	})

	set := func(collection, name string, value any) store.Edit {
		return store.Edit{Collection: collection, Name: name, Value: value}
	}
	view := store.View{}.Apply(
		set("Service", "cart", 80), set("Service", "ads", 81),
		set("Route", "a", Route{"shop.example", "cart"}),
		set("Route", "b", Route{"shop.example", "ads"}),
		set("Route", "c", Route{"blog.example", "ads"}))
	first := g.Eval(derive.State{}, view)
	for host, line := range derive.Items(first.State, hosts) {
		fmt.Println(host, "→", line)
	}

	second := g.Eval(first.State, view.Apply(set("Service", "cart", 8080)))
	for c := range derive.Changes(second.Delta, hosts) {
		fmt.Printf("%s: %s, was %s\n", c.Key, c.New, c.Old)
	}
	fmt.Println("functions run:", second.Work.Functions)
	// Output:
	// blog.example → ads:81
	// shop.example → cart:80, ads:81
	// shop.example: cart:8080, ads:81, was cart:80, ads:81
	// functions run: map[hosts:1 targets:1]
}
