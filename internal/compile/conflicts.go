package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// conflict refuses the listeners of one object that are not distinct: all of
// them, as the specification lets none win. Listeners of protocols that are not
// served take part in no conflict. Between objects there is precedence; see merge.
func conflict(all []*listener) {
	ports := map[portKey][]*listener{}
	for _, l := range all {
		if l.Protocol != "" {
			ports[l.portKey()] = append(ports[l.portKey()], l)
		}
	}
	for _, shared := range ports {
		port := shared[0].Port
		if !alike(shared) {
			refuse(shared, verdict.ProtocolConflict, fmt.Sprintf("port %d is used for %s", port, strings.Join(protocolsOf(shared), " and ")))
			continue
		}
		hosts := map[string][]*listener{}
		for _, l := range shared {
			hosts[l.Hostname] = append(hosts[l.Hostname], l)
		}
		for host, same := range hosts {
			switch {
			case len(same) == 1:
			case !same[0].named():
				refuse(same, verdict.ProtocolConflict, fmt.Sprintf("port %d can have one %s listener only", port, same[0].Protocol))
			default:
				refuse(same, verdict.HostnameConflict, fmt.Sprintf("port %d and host name %q are the same", port, domainOf(host)))
			}
		}
	}
}

// alike tells whether listeners can share a port by host name.
func alike(listeners []*listener) bool {
	return !slices.ContainsFunc(listeners, func(l *listener) bool { return family(l.Protocol) != family(listeners[0].Protocol) })
}

func protocolsOf(listeners []*listener) []string {
	var out []string
	for _, l := range listeners {
		out = append(out, string(l.Protocol))
	}
	return distinct(out)
}

func refuse(conflicting []*listener, reason verdict.Reason, what string) {
	var names []string
	for _, l := range conflicting {
		names = append(names, l.Name)
	}
	for _, l := range conflicting {
		others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == l.Name })
		l.Conflict = true
		l.Refused = problemf(reason, l.Field, "listener %s conflicts with %s: %s", l.Name, strings.Join(others, ", "), what)
	}
}

// overlaps tells that the listener may overlap with others: one of a ListenerSet
// only where it serves.
func (l listener) overlaps() bool {
	return l.Protocol == model.HTTPS && (l.Set == "" || l.Accepted)
}

// overlap notes HTTPS listeners of one port whose host names cover each other.
// They all serve; a client that reuses a connection for the wrong one gets 421.
func overlap(all []listener) {
	named := map[string][]int{}
	for i, l := range all {
		if l.overlaps() {
			key := ownerItem(l.portKey(), model.HTTPS, l.Hostname)
			named[key] = append(named[key], i)
		}
	}
	pairs := map[int][]int{}
	for i, l := range all {
		if !l.overlaps() {
			continue
		}
		for wider := range covering(l.Hostname) {
			for _, j := range named[ownerItem(l.portKey(), model.HTTPS, wider)] {
				if i == j {
					continue
				}
				pairs[i] = append(pairs[i], j)
				if wider != l.Hostname {
					pairs[j] = append(pairs[j], i)
				}
			}
		}
	}
	for i, others := range pairs {
		for _, j := range distinct(others) {
			all[i].Overlaps = append(all[i].Overlaps, all[j].section)
		}
	}
}
