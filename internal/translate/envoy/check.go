package envoy

import (
	"errors"
	"net/netip"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// checkRegex refuses what RE2, which Envoy uses, would refuse.
func checkRegex(field, pattern string) error {
	if pattern == "" {
		return faultf(field, pattern, "an empty regular expression: write one, for example \".*\"")
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return faultf(field, pattern, "invalid regular expression: %s; use RE2 syntax", regexCause(pattern, err))
	}
	if n := programSize(parsed); n > maxProgramSize {
		return faultf(field, pattern, "regular expression too large: about %d instructions of at most %d; shorten its repetitions", n, maxProgramSize)
	}
	return nil
}

// regexCause leaves out the expression where it is the whole pattern.
func regexCause(pattern string, err error) string {
	if problem, ok := errors.AsType[*syntax.Error](err); ok {
		if problem.Expr == pattern {
			return string(problem.Code)
		}
		return string(problem.Code) + " in " + problem.Expr
	}
	return err.Error()
}

// checkPath refuses what is not the path of a URL (RFC 3986 section 3.3): it
// could not be sent, or match what was.
func checkPath(field, path string) error {
	if !strings.HasPrefix(path, "/") {
		return faultf(field, path, "a path must start with /")
	}
	for i, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>?[\\]^`{|}", c) >= 0 {
			return faultf(field, path, "a path cannot contain %q: percent-encode it", c)
		}
		if c == '%' && !isEscape(path[i:]) {
			return faultf(field, path, "%% must begin an escape such as %%20: write %%25 for itself")
		}
	}
	return nil
}

func isEscape(s string) bool { return len(s) >= 3 && isHex(s[1]) && isHex(s[2]) }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// checkHostname refuses what is neither a DNS name in lower case nor, with
// wildcard, a DNS name below "*.".
func checkHostname(field, name string, wildcard bool) error {
	host := name
	if wildcard {
		host = strings.TrimPrefix(host, "*.")
	}
	if host == "" || len(host) > 253 {
		return faultf(field, name, "a host name has 1 to 253 characters")
	}
	for label := range strings.SplitSeq(host, ".") {
		if !validLabel(label) {
			return faultf(field, name, "not a host name: each label has 1 to 63 of a-z, 0-9, _ and inner -")
		}
	}
	return nil
}

func validLabel(l string) bool {
	if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for _, c := range []byte(l) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func checkHeaderName(field, name string) error {
	if !httpguts.ValidHeaderFieldName(name) {
		return faultf(field, name, "not a header name: use letters, digits and !#$%%&'*+-.^_`|~")
	}
	return nil
}

func checkHeaderValue(field, value string) error {
	if !httpguts.ValidHeaderFieldValue(value) || !utf8.ValidString(value) {
		return faultf(field, value, "a header value cannot contain control characters and must be UTF-8")
	}
	return nil
}

// checkName refuses an identity that cannot be written in configuration.
func checkName(field, name string) error {
	if name == "" {
		return faultf(field, name, "the name is empty")
	}
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return faultf(field, name, "a name must be UTF-8 without NUL")
	}
	return nil
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
