// Package username reads what the user name at a super-proxy asks for: key=value pairs
// with commas between them, such as country=de,session=abc,target=shop.example. It is
// pure, and what it refuses comes with a hint.
package username

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxLength is what SOCKS can carry, in bytes (RFC 1929, 2).
const MaxLength = 255

// MaxSession is how long the name of a session may be, in bytes.
const MaxSession = 64

// Any is a user name that asks for nothing, for clients that cannot send an empty one.
const Any = "-"

// Keys that are no attributes.
const (
	keySession   = "session"
	keyTarget    = "target"
	keyTTL       = "ttl"
	keyNamespace = "ns"
)

// Wish is what a user name asks for. The zero value is any proxy.
type Wish struct {
	// Selector are attributes that the proxy must have; nil for none.
	Selector map[string]string
	// Namespace is the proxy's; empty for any.
	Namespace string
	// Session is 1 to MaxSession printable bytes; empty for no session.
	Session string
	// Target is a host name in lower case; empty for the host of each request.
	Target string
	// TTL is the life of a lease, in whole seconds from 1 s to 1 h; 0 for the default.
	TTL time.Duration
}

// Parse reads a user name. Its error is a *[HintError].
func Parse(text string) (Wish, error) {
	if len(text) > MaxLength {
		return Wish{}, hint("it has %d bytes, and %d are what SOCKS can carry: ask for less, or use a token that has the selector", len(text), MaxLength)
	}
	return parse(text)
}

func parse(text string) (Wish, error) {
	var w Wish
	if text == "" || text == Any {
		return w, nil
	}
	seen := make(map[string]bool)
	for pair := range strings.SplitSeq(text, ",") {
		key, value, err := split(pair)
		switch {
		case err != nil:
			return Wish{}, err
		case seen[key]:
			return Wish{}, hint("%s comes twice: say it once", key)
		}
		seen[key] = true
		if err := w.set(key, value); err != nil {
			return Wish{}, err
		}
	}
	return w, nil
}

// String is a user name that asks for the same, with its pairs in order.
func (w Wish) String() string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(w.Selector)) {
		pairs = append(pairs, key+"="+w.Selector[key])
	}
	for _, p := range []struct{ key, value string }{{keyNamespace, w.Namespace}, {keySession, w.Session}, {keyTarget, w.Target}} {
		if p.value != "" {
			pairs = append(pairs, p.key+"="+p.value)
		}
	}
	if w.TTL > 0 {
		pairs = append(pairs, keyTTL+"="+strconv.Itoa(int(w.TTL/time.Second)))
	}
	if len(pairs) == 0 {
		return Any
	}
	return strings.Join(pairs, ",")
}
