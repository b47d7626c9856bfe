package clienthello

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// spoken is what a client says first, taken down.
func spoken(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	config.InsecureSkipVerify = true
	var said taken
	_ = tls.Client(&said, config).HandshakeContext(t.Context()) // nobody answers
	return said.Bytes()
}

// taken is a connection whose peer takes down everything and is gone.
type taken struct{ bytes.Buffer }

func (*taken) Read([]byte) (int, error)         { return 0, io.EOF }
func (*taken) Close() error                     { return nil }
func (*taken) LocalAddr() net.Addr              { return nil }
func (*taken) RemoteAddr() net.Addr             { return nil }
func (*taken) SetDeadline(time.Time) error      { return nil }
func (*taken) SetReadDeadline(time.Time) error  { return nil }
func (*taken) SetWriteDeadline(time.Time) error { return nil }

// arriving is a connection on which bytes arrive in pieces. It fails when it is written to.
type arriving struct {
	taken
	pieces [][]byte
}

func (a *arriving) Read(p []byte) (int, error) {
	if len(a.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, a.pieces[0])
	if a.pieces[0] = a.pieces[0][n:]; len(a.pieces[0]) == 0 {
		a.pieces = a.pieces[1:]
	}
	return n, nil
}

// inPieces cuts bytes into pieces of a size.
func inPieces(said []byte, size int) *arriving {
	a := new(arriving)
	for len(said) > 0 {
		n := min(size, len(said))
		a.pieces = append(a.pieces, said[:n])
		said = said[n:]
	}
	return a
}

// inRecords puts the handshake message of one record into several of a size.
func inRecords(hello []byte, size int) []byte {
	var out []byte
	for message := hello[5:]; len(message) > 0; {
		n := min(size, len(message))
		out = append(out, hello[:3]...)
		out = binary.BigEndian.AppendUint16(out, uint16(n))
		out = append(out, message[:n]...)
		message = message[n:]
	}
	return out
}

const name = "orders.db.example"

func TestRead(t *testing.T) {
	hello := spoken(t, &tls.Config{ServerName: name, NextProtos: []string{"postgresql"}})
	old := spoken(t, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	long := spoken(t, &tls.Config{ServerName: name, NextProtos: protocols(14 << 10)})
	for what, c := range map[string]struct {
		said *arriving
		want []byte
		name string
	}{
		"at once":                        {inPieces(hello, len(hello)), hello, name},
		"in segments of a byte":          {inPieces(hello, 1), hello, name},
		"in records of a byte":           {inPieces(inRecords(hello, 1), 1<<16), inRecords(hello, 1), name},
		"in small records and segments":  {inPieces(inRecords(hello, 10), 7), inRecords(hello, 10), name},
		"of an old client":               {inPieces(old, 100), old, name},
		"nearly too long":                {inPieces(long, 1448), long, name},
		"of a client that names no host": {inPieces(spoken(t, &tls.Config{}), 100), nil, ""},
		"of a client that names an IP":   {inPieces(spoken(t, &tls.Config{ServerName: "127.0.0.1"}), 100), nil, ""},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := Read(t.Context(), c.said)
			if err != nil || got.ServerName != c.name {
				t.Errorf("got %q, %v, want %q", got.ServerName, err, c.name)
			}
			if c.want != nil && !bytes.Equal(got.Raw, c.want) {
				t.Errorf("%d bytes are kept, want %d", len(got.Raw), len(c.want))
			}
			if c.said.Len() > 0 {
				t.Errorf("%q was said", c.said.String())
			}
		})
	}
}

// protocols are names of that many bytes.
func protocols(size int) []string {
	var names []string
	for n := 0; n < size; n += 101 {
		names = append(names, strings.Repeat("x", 100))
	}
	return names
}

func TestReadRefuses(t *testing.T) {
	hello := spoken(t, &tls.Config{ServerName: name})
	long := spoken(t, &tls.Config{ServerName: name, NextProtos: protocols(20 << 10)})
	for what, c := range map[string]struct {
		said []byte
		want error
	}{
		"too long":              {long, ErrTooLong},
		"too many records":      {inRecords(long[:5+(10<<10)], 2), ErrTooLong},
		"cut off":               {hello[:len(hello)-1], io.ErrUnexpectedEOF},
		"nothing":               {nil, io.EOF},
		"a record that is none": {[]byte("\x16GET / HTTP/1.1\r\n\r\n"), nil},
		"a record of nonsense":  {[]byte("\x16\x03\x01\x00\x08\x01\x00\x00\x04abcd"), nil},
		"another message first": {append([]byte{0x16, 3, 1, 0, 4, 2, 0, 0, 0}, hello...), nil},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := Read(t.Context(), inPieces(c.said, 1000))
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if !bytes.HasPrefix(c.said, got.Raw) || len(got.Raw) > Max {
				t.Errorf("%d bytes are kept, and not those that were said", len(got.Raw))
			}
		})
	}
}

// What is read is kept, whatever it is and however it comes.
func TestReadKeepsEverything(t *testing.T) {
	hello := spoken(t, &tls.Config{ServerName: name})
	rapid.Check(t, func(t *rapid.T) {
		said := bytes.Clone(hello)
		for range rapid.IntRange(0, 3).Draw(t, "faults") {
			said[rapid.IntRange(0, len(said)-1).Draw(t, "at")] ^= rapid.Byte().Draw(t, "by")
		}
		said = append(said, rapid.SliceOf(rapid.Byte()).Draw(t, "more")...)
		c := inPieces(said, rapid.IntRange(1, len(said)).Draw(t, "size"))
		got, _ := Read(t.Context(), c)
		rest, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(append(bytes.Clone(got.Raw), rest...), said) || c.Len() > 0 {
			t.Fatalf("%d bytes were read and %d are left of %d; %d were said", len(got.Raw), len(rest), len(said), c.Len())
		}
	})
}

func BenchmarkRead(b *testing.B) {
	hello := spoken(b, &tls.Config{ServerName: name})
	for b.Loop() {
		if _, err := Read(b.Context(), inPieces(hello, len(hello))); err != nil {
			b.Fatal(err)
		}
	}
}
