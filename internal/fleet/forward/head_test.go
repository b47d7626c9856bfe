package forward

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestHeadsThatCanBeReadInTwoWays(t *testing.T) {
	const begin = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
	for name, c := range map[string]struct {
		head string
		want error
	}{
		"both lengths":           {begin + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", errCoding},
		"two lengths":            {begin + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", errLength},
		"two equal lengths":      {begin + "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", errLength},
		"list of lengths":        {begin + "Content-Length: 3, 3\r\n\r\n", errLength},
		"signed length":          {begin + "Content-Length: +3\r\n\r\n", errLength},
		"length in hexadecimal":  {begin + "Content-Length: 0x3\r\n\r\n", errLength},
		"empty length":           {begin + "Content-Length:\r\n\r\n", errLength},
		"huge length":            {begin + "Content-Length: 99999999999999999999\r\n\r\n", errLength},
		"other coding":           {begin + "Transfer-Encoding: gzip, chunked\r\n\r\n", errCoding},
		"identity":               {begin + "Transfer-Encoding: identity\r\n\r\n", errCoding},
		"two codings":            {begin + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", errCoding},
		"coding before HTTP/1.1": {"POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", errCoding},
		"space before the colon": {begin + "Content-Length : 3\r\n\r\n", errField},
		"folded line":            {begin + "X: 1\r\n Content-Length: 3\r\n\r\n", errField},
		"no colon":               {begin + "X\r\n\r\n", errField},
		"no name":                {begin + ": x\r\n\r\n", errField},
		"NUL":                    {begin + "X: a\x00b\r\n\r\n", errField},
		"bare CR":                {begin + "X: a\rContent-Length: 3\r\n\r\n", errLines},
		"bare LF":                {begin + "X: a\nContent-Length: 3\r\n\r\n", errLines},
		"LF only":                {"GET http://a.example/ HTTP/1.1\nHost: a.example\n\n", errLines},
		"two hosts":              {begin + "Host: b.example\r\n\r\n", errHosts},
		"spaces in the target":   {"GET http://a.example/ x HTTP/1.1\r\n\r\n", errRequest},
		"two spaces":             {"GET  http://a.example/ HTTP/1.1\r\n\r\n", errRequest},
		"tab":                    {"GET\thttp://a.example/ HTTP/1.1\r\n\r\n", errRequest},
		"HTTP/0.9":               {"GET http://a.example/\r\n\r\n", errRequest},
		"HTTP/2":                 {"PRI * HTTP/2.0\r\n\r\n", errVersion},
		"HTTP/1.2":               {"GET http://a.example/ HTTP/1.2\r\n\r\n", errVersion},
		"too long":               {begin + "X: " + strings.Repeat("a", maxHead) + "\r\n\r\n", errTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			if req, err := readRequest(bufio.NewReaderSize(strings.NewReader(c.head), maxHead)); !errors.Is(err, c.want) {
				t.Errorf("%v, %v; want %v", req, err, c.want)
			}
		})
	}
}

// FuzzHead: a head that is accepted is read by net/http, to its end, with the target
// and the framing that the text has; so is one that comes after an empty line.
func FuzzHead(f *testing.F) {
	f.Add("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\nProxy-Authorization: Basic Ym9iOnNlY3JldA==\r\n\r\nhello")
	f.Add("POST http://a.example/x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("POST http://a.example/x HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	f.Add("GET http://a.example/x HTTP/1.0\r\nX: a\x00\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		head, rest, found := strings.Cut(text, "\r\n\r\n")
		if !found || len(text) >= maxHead || strings.HasPrefix(text, "\r\n") || checkHead(head+"\r\n\r\n") != nil {
			return
		}
		in := bufio.NewReaderSize(strings.NewReader("\r\n"+text), maxHead)
		req, err := readRequest(in)
		if err != nil {
			if !errors.Is(err, errRequest) { // a target that is no URL
				t.Fatalf("%q: %v", head, err)
			}
			return
		}
		line, fields, _ := strings.Cut(head, "\r\n")
		if want := req.Method + " " + req.RequestURI + " " + req.Proto; line != want {
			t.Fatalf("%q is read as %q", line, want)
		}
		checkFraming(t, req, fields)
		if in.Buffered() != len(rest) {
			t.Fatalf("%q: %d bytes are left of %d", head, in.Buffered(), len(rest))
		}
	})
}

// checkFraming finds the framing in the text once more, in the simplest way.
func checkFraming(t *testing.T, req *http.Request, fields string) {
	t.Helper()
	lower := "\r\n" + strings.ToLower(fields)
	chunked, length := strings.Contains(lower, "\r\ntransfer-encoding:"), strings.Contains(lower, "\r\ncontent-length:")
	switch {
	case chunked && length,
		chunked != (req.ContentLength == -1),
		!chunked && !length && req.ContentLength != 0,
		strings.Count(lower, "\r\ncontent-length:") > 1, strings.Count(lower, "\r\ntransfer-encoding:") > 1:
		t.Fatalf("%q: chunked %t, length %d", fields, chunked, req.ContentLength)
	}
}
