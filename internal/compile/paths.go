package compile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// matchedPath brings the path of a match into the form that requests have when they are
// matched: proxies take ordinary characters out of their escapes (RFC 3986, 6.2.2.2),
// so that /%41 and /A are one path. It refuses what no request has in that form.
func matchedPath(field, value string) (string, *problem) {
	if why := urlPath(field, value); why != nil {
		return value, why
	}
	path := withoutEscapes(value)
	elements := strings.Split(path, "/")
	for _, element := range []string{".", ".."} {
		if slices.Contains(elements, element) {
			return value, problemf(verdict.UnsupportedValue, field, "%q: has an element %s, which is resolved before requests are matched, so that none matches: write the path that it leads to", value, element)
		}
	}
	if at := strings.Index(strings.ToUpper(path), "%5C"); at >= 0 {
		return value, problemf(verdict.UnsupportedValue, field, "%q: has an escaped backslash (%s), which requests are redirected for to a path with a slash, so that none matches: write /", value, path[at:at+3])
	}
	return path, nil
}

// withoutEscapes takes letters, digits and -._~ out of their escapes.
func withoutEscapes(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+3 <= len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil && ordinary(byte(c)) {
				out.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		out.WriteByte(path[i])
	}
	return out.String()
}

// ordinary are the unreserved characters of URLs (RFC 3986, 2.3).
func ordinary(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
