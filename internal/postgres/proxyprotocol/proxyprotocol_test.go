package proxyprotocol

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

var trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

const payload = "\x00\x00\x00\x08\x04\xd2\x16\x2f"

// accept sends bytes in segments of at most so many, and returns what Accept made of
// them: the address, and what is left to read.
func accept(t *testing.T, p Policy, sent string, segment int) (address, rest string, err error) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if err := accepted.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for left := sent; left != ""; {
			n := min(segment, len(left))
			if _, err := io.WriteString(peer, left[:n]); err != nil {
				return
			}
			left = left[n:]
		}
		_ = peer.(*net.TCPConn).CloseWrite()
	}()
	c := proxy.Wrap(accepted)
	err = p.Accept(c)
	if err == nil {
		data, readErr := io.ReadAll(c)
		rest = string(data)
		err = readErr
	}
	address = c.RemoteAddr().String()
	if address == accepted.RemoteAddr().String() {
		address = "its own"
	}
	_ = accepted.Close()
	<-written
	return address, rest, err
}

// v2 is a header with these last bytes, whose length may be a lie.
func v2(command, family byte, length int, rest string) string {
	return string(proxyproto.SIGV2) + string([]byte{command, family, byte(length >> 8), byte(length)}) + rest
}

const (
	addressesV4 = "\xc6\x33\x64\x07\xcb\x00\x71\x01\x30\x39\x15\x38" // 198.51.100.7:12345 to 203.0.113.1:5432
	garbage     = "\x04\xff\xff\xee\x00\x00\x01"                     // extensions whose lengths mean nothing
)

var addressesV6 = "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x07" + strings.Repeat("\x00", 16) + "\x30\x39\x15\x38"

func TestAccept(t *testing.T) {
	for name, c := range map[string]struct {
		mode    Mode
		sent    string
		address string // that the connection has afterwards
	}{
		"off leaves everything":        {Off, "PROXY TCP4 1.1.1.1", "its own"},
		"version 1, IPv4":              {Required, "PROXY TCP4 198.51.100.7 203.0.113.1 12345 5432\r\n", "198.51.100.7:12345"},
		"version 1, IPv6":              {Optional, "PROXY TCP6 2001:db8::7 2001:db8::1 12345 5432\r\n", "[2001:db8::7]:12345"},
		"version 1, unknown":           {Required, "PROXY UNKNOWN\r\n", "its own"},
		"version 1, unknown with more": {Required, "PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", "its own"},
		"version 2, IPv4":              {Required, v2(0x21, 0x11, 12, addressesV4), "198.51.100.7:12345"},
		"version 2, IPv6":              {Optional, v2(0x21, 0x21, 36, addressesV6), "[2001:db8::7]:12345"},
		"version 2, garbage follows":   {Required, v2(0x21, 0x11, 12+len(garbage), addressesV4+garbage), "198.51.100.7:12345"},
		"version 2, the longest":       {Required, v2(0x21, 0x11, 4096, addressesV4+strings.Repeat("\x00", 4096-12)), "198.51.100.7:12345"},
		"version 2, local":             {Required, v2(0x20, 0x00, 0, ""), "its own"},
		"version 2, local with more":   {Required, v2(0x20, 0x11, 12, addressesV4), "its own"},
		"version 2, Unix":              {Required, v2(0x21, 0x31, 216, strings.Repeat("/", 216)), "its own"},
		"none, where it is optional":   {Optional, "", "its own"},
	} {
		for segments, size := range map[string]int{"one segment": 1 << 16, "segments of a byte": 1} {
			t.Run(name+", "+segments, func(t *testing.T) {
				sent := c.sent + payload
				address, rest, err := accept(t, Policy{Mode: c.mode, Trusted: trusted}, sent, size)
				if want := strings.TrimPrefix(sent, c.sent); c.mode != Off && (err != nil || address != c.address || rest != want) {
					t.Errorf("address %s, want %s; %q is left, want %q; %v", address, c.address, rest, want, err)
				}
				if c.mode == Off && rest != sent {
					t.Errorf("%q is left, want everything", rest)
				}
			})
		}
	}
}

func TestRefused(t *testing.T) {
	elsewhere := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	header := "PROXY TCP4 198.51.100.7 203.0.113.1 12345 5432\r\n"
	for name, c := range map[string]struct {
		policy Policy
		sent   string
		want   string
	}{
		"from elsewhere, required":          {Policy{Required, elsewhere}, "", "outside of the trusted"},
		"from elsewhere, a header":          {Policy{Optional, elsewhere}, header, "outside of the trusted"},
		"no header, required":               {Policy{Required, trusted}, payload, "no header"},
		"no version":                        {Policy{Optional, trusted}, "POST / HTTP/1.1\r\n\r\n", "no known version"},
		"version 1 without an end":          {Policy{Required, trusted}, "PROXY " + strings.Repeat("x", 200), "107 bytes"},
		"version 1 of nothing":              {Policy{Required, trusted}, "PROXY\r\n" + payload + payload, "too short"},
		"version 1 with names":              {Policy{Required, trusted}, "PROXY TCP4 localhost localhost 1 2\r\n", "cannot be read"},
		"version 1 of a port too many":      {Policy{Required, trusted}, "PROXY TCP4 1.1.1.1 1.1.1.2 65536 2\r\n", "cannot be read"},
		"version 2, longer than is taken":   {Policy{Required, trusted}, v2(0x21, 0x11, 4097, addressesV4), "longer than 4112"},
		"version 2, as long as can be said": {Policy{Optional, trusted}, v2(0x21, 0x11, 65535, addressesV4), "longer than 4112"},
		"version 2, no room for addresses":  {Policy{Required, trusted}, v2(0x21, 0x11, 11, addressesV4), "cannot be read"},
		"version 2, unknown command":        {Policy{Required, trusted}, v2(0x22, 0x11, 12, addressesV4), "cannot be read"},
		"version 2, version 3":              {Policy{Required, trusted}, v2(0x31, 0x11, 12, addressesV4), "cannot be read"},
		"version 2, UDP":                    {Policy{Required, trusted}, v2(0x21, 0x12, 12, addressesV4), "else than TCP"},
		"version 2, unspecified":            {Policy{Required, trusted}, v2(0x21, 0x00, 0, ""), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := accept(t, c.policy, c.sent, 1<<16)
			if refused, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(refused.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A header that ends early is a connection that ends, whatever is missing.
func TestTruncated(t *testing.T) {
	for _, whole := range []string{"PROXY TCP4 198.51.100.7 203.0.113.1 12345 5432\r\n", v2(0x21, 0x11, 12, addressesV4)} {
		for n := range len(whole) {
			_, _, err := accept(t, Policy{Required, trusted}, whole[:n], 1<<16)
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes of %q: %v", n, whole, err)
			}
		}
	}
}

// Whatever another implementation writes is cut exactly.
func TestCutIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		address := func(label string) *net.TCPAddr {
			size := 4
			if rapid.Bool().Draw(t, label+" is IPv6") {
				size = 16
			}
			ip := net.IP(rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, label)).To16()
			return &net.TCPAddr{IP: ip, Port: rapid.IntRange(0, 65535).Draw(t, label+" port")}
		}
		header := proxyproto.HeaderProxyFromAddrs(byte(rapid.IntRange(1, 2).Draw(t, "version")), address("source"), address("destination"))
		raw, err := header.Format()
		if err != nil {
			t.Skip("no such header")
		}
		rest := rapid.SliceOf(rapid.Byte()).Draw(t, "rest")
		r := bytes.NewReader(append(bytes.Clone(raw), rest...))
		got, err := cut(r)
		if err != nil || !bytes.Equal(got, raw) || r.Len() != len(rest) {
			t.Fatalf("cut %q off %q, %d bytes are left of %d, %v", got, raw, r.Len(), len(rest), err)
		}
	})
}

// No input makes it take more than a header, or panic.
func FuzzCut(f *testing.F) {
	f.Add([]byte(v2(0x21, 0x11, 12, addressesV4)))
	f.Add([]byte("PROXY TCP4 198.51.100.7 203.0.113.1 12345 5432\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		r := bytes.NewReader(sent)
		raw, err := cut(r)
		if len(raw) > MaxHeader || len(sent)-r.Len() > MaxHeader {
			t.Fatalf("took %d bytes", len(sent)-r.Len())
		}
		if err == nil && !bytes.HasPrefix(sent, raw) {
			t.Fatalf("%q is no begin of %q", raw, sent)
		}
	})
}
