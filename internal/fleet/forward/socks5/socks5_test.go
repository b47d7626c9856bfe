package socks5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		sent string
		want destination.Target
	}{
		"IPv4":            {"\x05\x01\x00\x01\x01\x02\x03\x04\x01\xbb", destination.Target{Host: "1.2.3.4", Port: 443}},
		"IPv6":            {"\x05\x01\x00\x04\x2a\x00" + strings.Repeat("\x00", 13) + "\x01\x00\x50", destination.Target{Host: "2a00::1", Port: 80}},
		"domain":          {"\x05\x01\x00\x03\x0bexample.org\x01\xbb", destination.Target{Host: "example.org", Port: 443}},
		"address as text": {"\x05\x01\x00\x03\x031::\x01\xbb", destination.Target{Host: "1::", Port: 443}},
	} {
		t.Run(name, func(t *testing.T) {
			rest := strings.NewReader(c.sent + "more")
			got, err := ReadRequest(rest)
			if err != nil || got != c.want {
				t.Errorf("%v, %v", got, err)
			}
			if left, _ := io.ReadAll(rest); string(left) != "more" {
				t.Errorf("%q is left", left)
			}
		})
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		sent string
		want Reply
	}{
		"BIND":            {"\x05\x02\x00\x01\x01\x02\x03\x04\x01\xbb", CommandNotSupported},
		"UDP ASSOCIATE":   {"\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", CommandNotSupported},
		"unknown command": {"\x05\x09\x00\x01\x01\x02\x03\x04\x01\xbb", CommandNotSupported},
		"unknown address": {"\x05\x01\x00\x02\x01\x02\x03\x04\x01\xbb", AddressNotSupported},
		"empty name":      {"\x05\x01\x00\x03\x00\x01\xbb", GeneralFailure},
		"NUL in name":     {"\x05\x01\x00\x03\x03a\x00b\x01\xbb", GeneralFailure},
		"port 0":          {"\x05\x01\x00\x01\x01\x02\x03\x04\x00\x00", GeneralFailure},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadRequest(strings.NewReader(c.sent))
			if r, ok := errors.AsType[*RefusedError](err); !ok || r.Reply != c.want {
				t.Errorf("%v, want reply %d", err, c.want)
			}
		})
	}
}

// reading is what one reading of a request comes to.
type reading struct {
	target destination.Target
	reply  Reply // Succeeded without an error
	form   bool  // not of the protocol
	short  bool  // ends too early
	used   int   // bytes, where it was read to its end
}

// naive reads a request that is all there, by positions.
func naive(b []byte) reading {
	size := map[byte]int{1: 4, 4: 16}
	if len(b) < 4 {
		return reading{short: true}
	}
	if b[0] != 5 || b[2] != 0 {
		return reading{form: true}
	}
	at, n := 4, size[b[3]]
	if b[3] == 3 {
		if len(b) < 5 {
			return reading{short: true}
		}
		at, n = 5, int(b[4])
	} else if n == 0 {
		return reading{reply: AddressNotSupported, used: 4}
	}
	if len(b) < at+n+2 {
		return reading{short: true}
	}
	host := string(b[at : at+n])
	if a, ok := netip.AddrFromSlice(b[at : at+n]); ok && b[3] != 3 {
		host = a.String()
	}
	r := reading{target: destination.Target{Host: host, Port: binary.BigEndian.Uint16(b[at+n:])}, used: at + n + 2}
	if b[1] != 1 {
		r.reply = CommandNotSupported
	} else if r.target.Port == 0 || !destination.ValidHost(host) {
		r.reply = GeneralFailure
	}
	return r
}

func read(r io.Reader) reading {
	counted := &counter{Reader: r}
	target, err := ReadRequest(counted)
	refused, isRefused := errors.AsType[*RefusedError](err)
	switch {
	case errors.Is(err, ErrForm):
		return reading{form: true}
	case isRefused && refused.Reply == AddressNotSupported:
		return reading{reply: refused.Reply, used: counted.n}
	case isRefused:
		return reading{target: target, reply: refused.Reply, used: counted.n}
	case err != nil:
		return reading{short: true}
	}
	return reading{target: target, used: counted.n}
}

type counter struct {
	io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// FuzzRequest: the reader says what a naive one says of the same bytes, in pieces of
// any size, and takes none that follow.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x01\x01\x02\x03\x04\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x03\x0bexample.org\x01\xbbmore"))
	f.Add([]byte("\x05\x03\x00\x04\x2a\x00" + strings.Repeat("\x00", 13) + "\x01\x00\x50"))
	f.Fuzz(func(t *testing.T, b []byte) {
		want := naive(b)
		if got := read(bytes.NewReader(b)); got != want {
			t.Fatalf("%x: %+v, want %+v", b, got, want)
		}
		if got := read(iotest.OneByteReader(bytes.NewReader(b))); got != want {
			t.Fatalf("%x byte by byte: %+v, want %+v", b, got, want)
		}
	})
}

// FuzzLogin: a greeting and a password are read as a naive reader finds them.
func FuzzLogin(f *testing.F) {
	f.Add([]byte("\x05\x02\x00\x02\x01\x03bob\x06secretmore"))
	f.Add([]byte("\x05\x01\x02\x01\x01a\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		methods, err := ReadGreeting(r)
		complete := len(b) >= 2 && b[0] == 5 && b[1] > 0 && len(b) >= 2+int(b[1])
		if complete != (err == nil) {
			t.Fatalf("greeting %x: %v", b, err)
		}
		if !complete {
			return
		}
		rest := b[2+int(b[1]):]
		if !bytes.Equal(methods, b[2:2+int(b[1])]) || r.Len() != len(rest) {
			t.Fatalf("%x: methods %x, %d bytes left", b, methods, r.Len())
		}
		username, password, err := ReadUserPassword(r)
		if err != nil {
			return
		}
		sent := "\x01" + string([]byte{byte(len(username))}) + username + string([]byte{byte(len(password))}) + password
		if username == "" || !strings.HasPrefix(string(rest), sent) || r.Len() != len(rest)-len(sent) {
			t.Fatalf("%x: %q %q", rest, username, password)
		}
	})
}
