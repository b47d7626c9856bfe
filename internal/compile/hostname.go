package compile

import (
	"cmp"
	"strings"
)

// anyHost is the domain of a virtual host that answers every name.
const anyHost = "*"

// A host name is exact ("a.example"), a wildcard ("*.example"), or empty for any.

// covers reports whether every name that inner stands for is one that outer
// stands for. A wildcard stands for names with any number of labels before its
// suffix, and not for the suffix itself.
func covers(outer, inner string) bool {
	switch {
	case outer == "" || outer == inner:
		return true
	case inner == "":
		return false
	default:
		suffix, wildcard := strings.CutPrefix(outer, "*")
		return wildcard && strings.HasSuffix(strings.TrimPrefix(inner, "*"), suffix) && len(inner) > len(suffix)
	}
}

// compareHosts orders host names by how much goes before what: exact names by
// length, then wildcards by length, then any; equal ones are 0.
func compareHosts(a, b string) int {
	return cmp.Or(
		cmp.Compare(exactness(b), exactness(a)),
		cmp.Compare(len(b), len(a)),
	)
}

func exactness(host string) int {
	switch {
	case host == "":
		return 0
	case strings.HasPrefix(host, "*"):
		return 1
	default:
		return 2
	}
}

// meeting is a domain that a route serves at a listener, and the host name of
// the route that it comes from.
type meeting struct {
	Domain string
	Host   string
}

// meet returns the domains that a route with these host names serves at a
// listener, in order; of several host names that give the same domain, the one
// that goes first is kept.
func meet(listener string, route []string) []meeting {
	if len(route) == 0 {
		return []meeting{{Domain: domainOf(listener)}}
	}
	found := map[string]string{}
	for _, host := range route {
		domain, ok := narrower(listener, host)
		if !ok {
			continue
		}
		if other, taken := found[domain]; !taken || compareHosts(host, other) < 0 {
			found[domain] = host
		}
	}
	meetings := make([]meeting, 0, len(found))
	for domain, host := range sortedMap(found) {
		meetings = append(meetings, meeting{domain, host})
	}
	return meetings
}

// narrower is the domain of whichever host name the other one covers.
func narrower(a, b string) (string, bool) {
	switch {
	case covers(a, b):
		return domainOf(b), true
	case covers(b, a):
		return domainOf(a), true
	default:
		return "", false
	}
}

func domainOf(host string) string {
	if host == "" {
		return anyHost
	}
	return host
}

// hostOf undoes domainOf.
func hostOf(domain string) string {
	if domain == anyHost {
		return ""
	}
	return domain
}
