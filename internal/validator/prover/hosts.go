package prover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Fields of Envoy's messages.
const (
	scopeName   protowire.Number = 1 // ScopedRouteConfiguration.name
	scopeKey    protowire.Number = 3 // .key
	scopeTable  protowire.Number = 5 // .route_configuration
	keyFragment protowire.Number = 1 // ScopedRouteConfiguration.Key.fragments
	keyString   protowire.Number = 1 // ScopedRouteConfiguration.Key.Fragment.string_key
)

// scopeSet is the set of all scopes of the proving Envoy. Its rest is always there, so
// that what is withdrawn goes at once.
const scopeSet = "p/"

// host is what of a table or scope is judged for itself: one virtual host with all that
// the table has beside its hosts; or all of it where it has no parts.
type host struct {
	part    string // its name; empty where there are no parts
	version string
	// table is an encoded field scopeTable, once or more often: decoders merge.
	table func() []byte
}

// hostsOf takes a table or scope apart.
func hostsOf(r xdsserve.Resource) ([]host, error) {
	if len(r.Parts) == 0 {
		table, err := tableField(r.Type, r.Body)
		return []host{{version: r.Version, table: func() []byte { return table }}}, err
	}
	if err := distinct(r.Parts); err != nil {
		return nil, err
	}
	rest, err := tableField(r.Type, outside(r))
	if err != nil {
		return nil, err
	}
	out := make([]host, 0, len(r.Parts))
	settings := xxhash.Sum64(rest)
	for _, p := range r.Parts {
		own := r.Body[p.From:p.To]
		out = append(out, host{part: p.Name, version: fmt.Sprintf("%016x%016x", settings, xxhash.Sum64(own)), table: func() []byte {
			if r.Type == xdsserve.Routes {
				own = appendBytes(nil, scopeTable, own)
			}
			return slices.Concat(rest, own)
		}})
	}
	return out, nil
}

// distinct refuses two hosts of one domain: each becomes a table of its own, so that
// Envoy does not see them side by side.
func distinct(parts []xdsserve.Part) error {
	seen := make(map[string]struct{}, len(parts))
	for _, p := range parts {
		domain := strings.ToLower(p.Name)
		if _, twice := seen[domain]; twice {
			return fmt.Errorf("two virtual hosts have the domain %q; keep one", p.Name)
		}
		seen[domain] = struct{}{}
	}
	return nil
}

// outside is a body without its parts.
func outside(r xdsserve.Resource) []byte {
	var out []byte
	at := 0
	for _, p := range r.Parts {
		out = append(out, r.Body[at:p.From]...)
		at = p.To
	}
	return append(out, r.Body[at:]...)
}

// tableField is the encoded route table of a table or scope as a scope has it. Clusters
// have other names here, and need not be known.
func tableField(t xdsserve.Type, body []byte) ([]byte, error) {
	// validate_clusters = {value: false}, written out: absent means true in a scope.
	const validateClusters = "\x3a\x02\x08\x00"
	out := appendBytes(nil, scopeTable, []byte(validateClusters))
	if t == xdsserve.Routes {
		return append(appendBytes(nil, scopeTable, body), out...), nil
	}
	var found []byte
	for len(body) > 0 {
		number, _, n := protowire.ConsumeField(body)
		if n < 0 {
			return nil, fmt.Errorf("it cannot be decoded: %w", protowire.ParseError(n))
		}
		if number != scopeName && number != scopeKey {
			found = append(found, body[:n]...)
		}
		body = body[n:]
	}
	return append(found, out...), nil
}

// scopeOf is a scope by its name, which is also its key.
func scopeOf(name string, table []byte) []byte {
	out := appendBytes(nil, scopeName, []byte(name))
	out = appendBytes(out, scopeKey, appendBytes(nil, keyFragment, appendBytes(nil, keyString, []byte(name))))
	return append(out, table...)
}

func appendBytes(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}
