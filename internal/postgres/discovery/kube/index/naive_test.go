package index_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
)

// naive says what [routes] says, from the objects, each time from scratch. It knows the
// objects that are drawn, no others.
func (w *world) naive() string {
	claims := map[string][]*core_v1.Service{}
	for _, s := range w.services {
		pooled, id := s.Labels["xdatabase-proxy-pooled"], s.Labels["xdatabase-proxy-deployment-id"]
		if id != "" && pooled != "oops" {
			claims[id+map[string]string{"true": ".pool"}[pooled]] = append(claims[id+map[string]string{"true": ".pool"}[pooled]], s)
		}
	}
	var lines []string
	for backend, all := range claims {
		slices.SortFunc(all, func(a, b *core_v1.Service) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		var losers []string
		for _, s := range all[1:] {
			losers = append(losers, name(s).String())
		}
		endpoints, dials := w.dials(all[0])
		lines = append(lines, route(backend, name(all[0]).String(), losers, endpoints, dials))
	}
	slices.SortFunc(lines, func(a, b string) int { // "orders" goes before "orders.pool"
		a, _, _ = strings.Cut(a, " ")
		b, _, _ = strings.Cut(b, " ")
		return cmp.Compare(a, b)
	})
	return strings.Join(lines, "")
}

// dials lists the endpoints of a Service, and those that new sessions go to.
func (w *world) dials(s *core_v1.Service) (endpoints, dials []string) {
	named, number := "postgres", "5432"
	switch label := s.Labels["xdatabase-proxy-destination-port"]; {
	case label == "6432" && len(s.Spec.Ports) == 2:
		named, number = "pool", label
	case label != "" && label != "5432":
		return nil, nil
	}
	all := w.sent(name(s))
	if len(all) == 0 {
		return nil, []string{s.Name + "." + s.Namespace + ".svc.cluster.local:" + number}
	}
	isReady := map[string]bool{}
	for _, slice := range all {
		for _, port := range slice.Ports {
			for _, e := range slice.Endpoints {
				if *port.Name == named && e.Addresses[0] != "127.0.0.1" {
					address := fmt.Sprintf("%s:%d", e.Addresses[0], *port.Port)
					isReady[address] = isReady[address] || readyNow(e.Conditions)
				}
			}
		}
	}
	for address, ready := range isReady {
		endpoints = append(endpoints, fmt.Sprint(address, ready))
		if ready {
			dials = append(dials, address)
		}
	}
	slices.Sort(endpoints)
	slices.Sort(dials)
	return endpoints, dials
}

func readyNow(c discovery_v1.EndpointConditions) bool {
	return *c.Ready && c.Terminating == nil
}
