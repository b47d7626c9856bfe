package username

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// HintError is why a user name cannot be understood, and what to write instead, in ASCII.
type HintError struct{ Text string }

func (e *HintError) Error() string { return "user name: " + e.Text }

func hint(format string, args ...any) error {
	return &HintError{fmt.Sprintf(format, args...)}
}

// The syntax of attributes, and of namespaces.
var (
	label     = regexp.MustCompile(`^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$`)
	namespace = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

const (
	maxLabel = 63
	maxTTL   = time.Hour
)

func isLabel(text string) bool { return len(text) <= maxLabel && label.MatchString(text) }

// split takes a pair apart.
func split(pair string) (key, value string, err error) {
	key, value, found := strings.Cut(pair, "=")
	switch {
	case pair == "":
		return "", "", hint("a pair is empty: write key=value pairs with one comma between them, for example country=de,session=abc")
	case !found:
		return "", "", hint("%s is no key=value pair: write %s", quote(pair), instead(pair))
	case !isLabel(key):
		return "", "", hint("%s is no key: 1 to 63 letters, digits, dashes, underscores and dots, for example country", quote(key))
	case value == "":
		return "", "", hint("%s has no value: write %s=VALUE, or leave it out", key, key)
	}
	return key, value, nil
}

// instead guesses what was meant: others write country-de, or a session alone.
func instead(pair string) string {
	if key, value, found := strings.Cut(pair, "-"); found && isLabel(key) && isLabel(value) {
		return key + "=" + value
	}
	if isLabel(pair) {
		return "session=" + pair + " for a session of that name"
	}
	return "for example country=de,session=abc"
}

func (w *Wish) set(key, value string) (err error) {
	switch key {
	case keySession:
		if len(value) > MaxSession || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return hint("session %s is no name: 1 to %d printable characters without blanks", quote(value), MaxSession)
		}
		w.Session = value
	case keyTarget:
		if !destination.ValidHost(value) {
			return hint("target %s is no host name: write it without port and path, for example target=shop.example", quote(value))
		}
		w.Target = strings.ToLower(value)
	case keyNamespace:
		if len(value) > maxLabel || !namespace.MatchString(value) {
			return hint("ns %s is no namespace: 1 to 63 lower-case letters, digits and dashes", quote(value))
		}
		w.Namespace = value
	case keyTTL:
		w.TTL, err = ttl(value)
		return err
	default:
		if !isLabel(value) {
			return hint("%s cannot be %s: a value has 1 to 63 letters, digits, dashes, underscores and dots", key, quote(value))
		}
		if w.Selector == nil {
			w.Selector = make(map[string]string)
		}
		w.Selector[key] = value
	}
	return nil
}

// ttl takes seconds, or a duration.
func ttl(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if n, err2 := strconv.ParseUint(value, 10, 16); err2 == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < time.Second || d > maxTTL || d%time.Second != 0 {
		return 0, hint("ttl %s is no life of a lease: whole seconds from 1 to %d, for example ttl=300", quote(value), int(maxTTL/time.Second))
	}
	return d, nil
}

// maxQuote is how much of a wrong value a hint repeats.
const maxQuote = 64

func quote(text string) string {
	if len(text) > maxQuote {
		text = text[:maxQuote] + "..."
	}
	return strconv.QuoteToASCII(text)
}
