package forward

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// maxHead is how long the head of a request may be.
const maxHead = 16 << 10

// errHead is what is refused before net/http reads it: two readers of such a request
// may see different requests in it (RFC 9112, 11.2).
func errHead(status int, text string) error {
	return &RefusalError{Status: status, Kind: "http_request_error", Text: text}
}

var (
	errTooLong = errHead(http.StatusRequestHeaderFieldsTooLarge, "the head of the request is longer than 16 KiB")
	errLines   = errHead(http.StatusBadRequest, "a line of the head does not end in CR LF")
	errRequest = errHead(http.StatusBadRequest, "the request line is not METHOD TARGET HTTP/1.1")
	errVersion = errHead(http.StatusHTTPVersionNotSupported, "only HTTP/1.1 and HTTP/1.0 are served")
	errField   = errHead(http.StatusBadRequest, "a header field is not NAME: VALUE")
	errLength  = errHead(http.StatusBadRequest, "Content-Length is not one number")
	errCoding  = errHead(http.StatusBadRequest, "Transfer-Encoding is not chunked, or comes with Content-Length or HTTP/1.0")
	errHosts   = errHead(http.StatusBadRequest, "more than one Host")
)

// readRequest reads a head that everybody reads alike. The error is a *[RefusalError]
// or the connection's.
func readRequest(in *bufio.Reader) (*http.Request, error) {
	head, err := peekHead(in)
	if err != nil {
		return nil, err
	}
	if err := checkHead(string(head)); err != nil {
		return nil, err
	}
	req, err := http.ReadRequest(in)
	if err != nil {
		return nil, errRequest
	}
	return req, nil
}

// peekHead waits for an empty line and returns everything up to its end.
func peekHead(in *bufio.Reader) ([]byte, error) {
	if b, err := in.Peek(2); err == nil && string(b) == "\r\n" {
		_, _ = in.Discard(2) // after the content of a sloppy request (RFC 9112, 2.2)
	}
	for seen := 0; ; {
		_, err := in.Peek(seen + 1)
		b, _ := in.Peek(in.Buffered())
		from := max(0, seen-3)
		if i := bytes.Index(b[from:], []byte("\n\r\n")); i >= 0 {
			return b[:from+i+3], nil
		}
		switch {
		case bytes.Contains(b[from:], []byte("\n\n")):
			return nil, errLines
		case errors.Is(err, bufio.ErrBufferFull) || len(b) == in.Size():
			return nil, errTooLong
		case err != nil:
			return nil, err
		}
		seen = len(b)
	}
}

// checkHead accepts a head that ends in an empty line.
func checkHead(head string) error {
	lines := strings.Split(strings.TrimSuffix(head, "\r\n\r\n"), "\r\n")
	if strings.Count(head, "\n") != len(lines)+1 || strings.Count(head, "\r") != len(lines)+1 {
		return errLines
	}
	method, rest, _ := strings.Cut(lines[0], " ")
	target, version, _ := strings.Cut(rest, " ")
	switch {
	case !httpguts.ValidHeaderFieldName(method) || target == "" || strings.ContainsFunc(target, notPrinted) || strings.Contains(version, " "):
		return errRequest
	case version != "HTTP/1.1" && version != "HTTP/1.0":
		if strings.HasPrefix(version, "HTTP/") {
			return errVersion
		}
		return errRequest
	}
	return checkFields(lines[1:], version == "HTTP/1.1")
}

func notPrinted(r rune) bool { return r <= ' ' || r == 0x7f }

// checkFields sees that the fields say in one way only where the request ends.
func checkFields(lines []string, newer bool) error {
	var lengths, codings, hosts int
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		if !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return errField
		}
		value = strings.Trim(value, " \t")
		switch strings.ToLower(name) {
		case "content-length":
			if lengths++; lengths > 1 || !isNumber(value) {
				return errLength
			}
		case "transfer-encoding":
			if codings++; codings > 1 || !strings.EqualFold(value, "chunked") {
				return errCoding
			}
		case "host":
			if hosts++; hosts > 1 {
				return errHosts
			}
		}
	}
	if codings > 0 && (lengths > 0 || !newer) {
		return errCoding
	}
	return nil
}

// isNumber: digits and nothing else, few enough for 64 bits.
func isNumber(text string) bool {
	return text != "" && len(text) <= 18 && strings.Trim(text, "0123456789") == ""
}
