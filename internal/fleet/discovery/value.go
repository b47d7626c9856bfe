package discovery

import (
	"encoding/json/jsontext"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// Bounds of values.
const (
	maxSession  = 128
	maxKey      = 255
	maxPairs    = 32 // as many attributes as a proxy can have
	maxExcluded = 256
	maxLabel    = 63
	maxName     = 253
)

const keyHeader = "Idempotency-Key"

func ttlOf(value jsontext.Value) (time.Duration, error) {
	n, ok, err := integer("ttlSeconds", value)
	if err != nil {
		return 0, err
	}
	if ok && n == 0 {
		return lease.DefaultTTL, nil
	}
	const least, most = int64(lease.MinTTL / time.Second), int64(lease.MaxTTL / time.Second)
	if !ok || n < least || n > most {
		return 0, refuse(InvalidTTL, "ttlSeconds is %s: send a whole number from %d to %d, or none for %d",
			clip(string(value)), least, most, int64(lease.DefaultTTL/time.Second)).of("ttlSeconds")
	}
	return time.Duration(n) * time.Second, nil
}

// targetOf returns the name of a host as it is compared: in lower case, without port,
// brackets and final dot. Its labels are not looked at: it is a key, and never resolved.
func targetOf(value jsontext.Value) (string, error) {
	sent, err := text("target", value)
	if err != nil || sent == "" {
		return "", err
	}
	if len(sent) <= maxName && strings.Trim(sent, hostBytes) == "" {
		return hostOf(strings.ToLower(sent)), nil
	}
	remedy := "send the name of a host, such as shop.example"
	if strings.Contains(sent, "/") {
		remedy = "send the host of the URL alone, such as shop.example"
	} else if strings.ContainsFunc(sent, func(r rune) bool { return r > 0x7f }) {
		remedy = "send it in ASCII, such as xn--bcher-kva.example"
	}
	return "", refuse(InvalidTarget, "target %s is no name of a host of 1 to %d bytes: %s", show(sent), maxName, remedy).of("target")
}

const (
	letters   = "abcdefghijklmnopqrstuvwxyz"
	digits    = "0123456789"
	hostBytes = letters + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits + "-_.:[]"
)

// hostOf is never empty.
func hostOf(sent string) string {
	host, port := sent, ""
	if strings.HasPrefix(sent, "[") {
		host, port, _ = strings.Cut(sent[1:], "]")
	} else if strings.Count(sent, ":") == 1 {
		host, port, _ = strings.Cut(sent, ":")
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || strings.Trim(port, digits+":") != "" {
		return sent
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return host
}

func sessionOf(value jsontext.Value) (string, error) {
	sent, err := text("session", value)
	if err != nil {
		return "", err
	}
	if len(sent) > maxSession || strings.ContainsFunc(sent, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", refuse(InvalidSession, "session %s is not 1 to %d printable ASCII characters: choose another name", show(sent), maxSession).of("session")
	}
	return sent, nil
}

func attributesOf(value jsontext.Value) (map[string]string, error) {
	all, err := pairs("selector", value)
	if err != nil {
		return nil, err
	}
	if len(all) > maxPairs {
		return nil, refuse(InvalidSelector, "selector has %d attributes, and no proxy has more than %d: send fewer", len(all), maxPairs).of("selector")
	}
	for key, value := range all {
		if err := attribute(InvalidSelector, "selector.", key, value); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// attribute refuses a pair that no proxy can have.
func attribute(code Code, prefix, key, value string) error {
	if key == "" || !isLabel(key) {
		return refuse(code, "%s%s is no attribute: send 1 to %d letters, digits, dashes, underscores and dots, with a letter or digit first and last",
			prefix, show(key), maxLabel).of(prefix + clip(oneLine(key)))
	}
	if !isLabel(value) {
		return refuse(code, "%s%s is %s, which no attribute can be: send at most %d letters, digits, dashes, underscores and dots, with a letter or digit first and last",
			prefix, key, show(value), maxLabel).of(prefix + key)
	}
	return nil
}

// isLabel says whether text has the syntax of values of labels; it may be empty.
func isLabel(text string) bool {
	if len(text) > maxLabel {
		return false
	}
	for i := range len(text) {
		c := text[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && (i == 0 || i == len(text)-1 || !strings.ContainsRune("-_.", rune(c))) {
			return false
		}
	}
	return true
}

// isName says whether a namespace or a proxy can be called so; dots are for proxies.
func isName(text string, most int, dots bool) bool {
	if text == "" || len(text) > most {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || strings.Trim(label, letters+digits+"-") != "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return dots || !strings.Contains(text, ".")
}

func namespace(code Code, sent string) (string, error) {
	if sent != "" && !isName(sent, maxLabel, false) {
		return "", refuse(code, "namespace %s is no name of a namespace: send 1 to %d lower-case letters, digits and dashes, or leave it out for all",
			show(sent), maxLabel).of("namespace")
	}
	return sent, nil
}

// excludedOf returns names in order, each once.
func excludedOf(value jsontext.Value) ([]string, error) {
	all, err := texts("exclude", value)
	if err != nil {
		return nil, err
	}
	if len(all) > maxExcluded {
		return nil, refuse(InvalidExclude, "exclude has %d names, at most %d: send fewer", len(all), maxExcluded).of("exclude")
	}
	for _, sent := range all {
		ns, name, _ := strings.Cut(sent, "/")
		if !isName(ns, maxLabel, false) || !isName(name, maxLabel+maxName-len(ns), true) {
			return nil, refuse(InvalidExclude, "exclude has %s, which names no proxy: send namespace/name, as answers have them", show(sent)).of("exclude")
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

var results = []string{string(lease.OK), string(lease.RateLimited), string(lease.Banned)}

func resultOf(value jsontext.Value) (lease.Result, error) {
	sent, err := text("result", value)
	if err != nil {
		return "", err
	}
	if !slices.Contains(results, sent) {
		remedy := "send " + strings.Join(results, ", ")
		if closest, ok := spelling.Closest(sent, results); ok {
			remedy = "did you mean " + closest + "? " + remedy
		}
		return "", refuse(InvalidResult, "result is %s: %s", show(sent), remedy).of("result")
	}
	return lease.Result(sent), nil
}

// keyOf returns what makes a request safe to repeat, empty without.
func keyOf(h http.Header) (string, error) {
	keys := h[keyHeader]
	switch {
	case len(keys) == 0:
		return "", nil
	case len(keys) > 1:
		return "", refuse(InvalidKey, "%s comes %d times: send it once", keyHeader, len(keys)).of(keyHeader)
	}
	if key := keys[0]; key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", refuse(InvalidKey, "%s is not 1 to %d visible ASCII characters: send a random one, such as a UUID", keyHeader, maxKey).of(keyHeader)
	}
	return keys[0], nil
}

// queryOf reads parameters that are known, each at most once; others are refused by their
// name unless it has the prefix.
func queryOf(r *http.Request, prefix string, known ...string) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil //nolint:nilnil // no parameters
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(InvalidQuery, "the query cannot be read: write %%XX for all but letters, digits, dots, dashes, and & between parameters")
	}
	for name, values := range query {
		if !slices.Contains(known, name) && (prefix == "" || !strings.HasPrefix(name, prefix)) {
			return nil, unknownParameter(name, prefix, known)
		}
		if len(values) > 1 {
			return nil, refuse(InvalidQuery, "parameter %s comes %d times: send it once", show(name), len(values)).of(clip(name))
		}
	}
	return query, nil
}

func unknownParameter(name, prefix string, known []string) error {
	if prefix != "" {
		known = append([]string{prefix + "NAME"}, known...)
	}
	if len(known) == 0 {
		return refuse(InvalidQuery, "parameter %s is not known: there are none here, leave the query out", show(name)).of(clip(name))
	}
	return unknownName(InvalidQuery, "parameter", name, known)
}

func waitOf(query url.Values) (time.Duration, error) {
	if !query.Has("wait") {
		return 0, nil
	}
	sent := query.Get("wait")
	d, err := time.ParseDuration(sent)
	if err != nil || d < 0 || d > MaxWait {
		return 0, refuse(InvalidWait, "wait is %s: send a duration up to %v, such as 10s", show(sent), MaxWait).of("wait")
	}
	return d, nil
}
