package model

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// The functions of this file say what a text of the model may be. Each returns
// what is wrong and what to do about it, to be put after the value, or nothing.

// ExpressionFault is why a text cannot be a regular expression: they have the
// syntax of RE2, and a size that proxies compile.
func ExpressionFault(pattern string) string {
	if pattern == "" {
		return "an empty regular expression: write one, for example \".*\""
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return fmt.Sprintf("invalid regular expression: %s; use RE2 syntax", expressionCause(pattern, err))
	}
	if part := beyondBytes(pattern); part != "" {
		return fmt.Sprintf("invalid regular expression: %s is not known where bytes are matched; write characters as they are, and classes by the short names of RE2", part)
	}
	if n := programSize(parsed); n > MaxProgramSize {
		return fmt.Sprintf("regular expression too large: about %d instructions of at most %d; shorten its repetitions", n, MaxProgramSize)
	}
	return ""
}

// expressionCause leaves out the expression where it is the whole pattern.
func expressionCause(pattern string, err error) string {
	if problem, ok := errors.AsType[*syntax.Error](err); ok {
		if problem.Expr == pattern {
			return string(problem.Code)
		}
		return string(problem.Code) + " in " + problem.Expr
	}
	return err.Error()
}

// PathFault is why a text cannot be the path of a URL (RFC 3986 section 3.3): it
// could not be sent, or match what was.
func PathFault(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "a path must start with /"
	}
	for i, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>?[\\]^`{|}", c) >= 0 {
			return fmt.Sprintf("a path cannot contain %q: percent-encode it", c)
		}
		if c == '%' && !isEscape(path[i:]) {
			return "% must begin an escape such as %20: write %25 for itself"
		}
	}
	return ""
}

func isEscape(s string) bool { return len(s) >= 3 && isHex(s[1]) && isHex(s[2]) }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// HostnameFault is why a text is neither a DNS name in lower case nor, with
// wildcard, a DNS name below "*.".
func HostnameFault(name string, wildcard bool) string {
	host := name
	if wildcard {
		host = strings.TrimPrefix(host, "*.")
	}
	if host == "" || len(host) > 253 {
		return "a host name has 1 to 253 characters"
	}
	for label := range strings.SplitSeq(host, ".") {
		if !validLabel(label) {
			return "not a host name: each label has 1 to 63 of a-z, 0-9, _ and inner -"
		}
	}
	return ""
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

// CookiePathFault is why a text cannot be the path of a cookie: it must be a path, and
// not end the attribute (RFC 6265 section 4.1.1).
func CookiePathFault(path string) string {
	if !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c >= 0x7f || c == ';' }) {
		return "must be a path that starts with / and has no ; in it"
	}
	return ""
}

// IsAddress reports whether a host is an IP address.
func IsAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// TokenFault is why a text cannot be a token (RFC 9110 section 5.6.2), as the names of
// methods, headers and cookies are.
func TokenFault(text string) string {
	if !httpguts.ValidHeaderFieldName(text) {
		return "must be a name of letters, digits and !#$%&'*+-.^_`|~"
	}
	return ""
}

// HeaderNameFault is why a text cannot be the name of a header (RFC 9110 section 5.1).
func HeaderNameFault(name string) string {
	if !httpguts.ValidHeaderFieldName(name) {
		return "not a header name: use letters, digits and !#$%&'*+-.^_`|~"
	}
	return ""
}

// HeaderValueFault is why a text cannot be the value of a header (RFC 9110 section 5.5).
func HeaderValueFault(value string) string {
	if !httpguts.ValidHeaderFieldValue(value) || !utf8.ValidString(value) {
		return "a header value cannot contain control characters and must be UTF-8"
	}
	return ""
}

// EditedHeaderFault is why a header cannot be edited: changing those that say where
// a message ends or whom it is for would tear apart what the proxy and the backend
// understand.
func EditedHeaderFault(name string) string {
	switch strings.ToLower(name) {
	case "host":
		return "this header cannot be edited: use a URL rewrite with a host name"
	case "content-length", "transfer-encoding":
		return "this header frames the message and cannot be edited: remove the edit"
	case "connection", "keep-alive", "proxy-connection", "upgrade":
		return "this header belongs to one connection (RFC 9110 section 7.6.1), where the proxy sets it: remove the edit"
	}
	return HeaderNameFault(name)
}
