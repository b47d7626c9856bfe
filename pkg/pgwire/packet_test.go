package pgwire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// packet builds a packet of one version or code.
func packet(code uint32, body string) []byte {
	raw := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(binary.BigEndian.AppendUint32(raw, code), body...)
}

const (
	v30, v32               = 3 << 16, 3<<16 | 2
	cancel, ssl, gss, next = 1234<<16 | 5678, 1234<<16 | 5679, 1234<<16 | 5680, 1234<<16 | 5681
)

// accepted are packets that Read takes; each is also the begin of a fuzz corpus.
var accepted = map[string][]byte{
	"startup":            packet(v30, "user\x00a.b\x00database\x00b\x00\x00"),
	"no parameters":      packet(v30, "\x00"),
	"duplicates":         packet(v30, "user\x00a\x00user\x00b\x00_pq_.x\x00\x00\x00"),
	"3.2":                packet(v32, "user\x00\xff\xfe \n\x1b\x00\x00"),
	"3.9999":             packet(3<<16|9999, "user\x00a\x00\x00"),
	"longest":            packet(v30, "user\x00"+strings.Repeat("a", pgwire.MaxPacket-8-7)+"\x00\x00"),
	"TLS":                packet(ssl, ""),
	"GSSAPI":             packet(gss, ""),
	"cancel":             packet(cancel, "\x00\x00\x00\x01abcd"),
	"cancel of 3.2":      packet(cancel, "\xff\xff\xff\xff"+strings.Repeat("s", 256)),
	"unknown code":       packet(next, "something"),
	"unknown empty code": packet(1234<<16, ""),
}

// refused are packets that Read does not take, and why.
var refused = map[string]struct {
	raw  []byte
	want string
}{
	"length 0":       {[]byte{0, 0, 0, 0, 0, 0, 0, 0}, "startup packet: byte 0: the length is less than 8"},
	"length 7":       {[]byte{0, 0, 0, 7, 0, 3, 0}, "startup packet: byte 0: the length is less than 8"},
	"no terminator":  {packet(v30, ""), "startup packet: byte 8: the NUL at the end is missing"},
	"no last NUL":    {packet(v30, "user\x00a\x00"), "startup packet: byte 15: the NUL at the end is missing"},
	"name alone":     {packet(v30, "user\x00"), "startup packet: byte 13: a parameter has no value"},
	"odd strings":    {packet(v30, "user\x00a\x00x\x00"), "startup packet: byte 17: a parameter has no value"},
	"value cut off":  {packet(v30, "user\x00a"), "startup packet: byte 13: a parameter has no value"},
	"empty name":     {packet(v30, "user\x00a\x00\x00b\x00\x00"), "startup packet: byte 15: a parameter's name is empty, or bytes follow the end"},
	"behind the end": {packet(v30, "user\x00a\x00\x00\x00"), "startup packet: byte 15: a parameter's name is empty, or bytes follow the end"},
	"TLS with more":  {packet(ssl, "x"), "startup packet: byte 8: SSLRequest has a body"},
	"GSS with more":  {packet(gss, "x"), "startup packet: byte 8: GSSENCRequest has a body"},
	"short secret":   {packet(cancel, "\x00\x00\x00\x01abc"), "startup packet: byte 8: the key is not a process and a secret of 4 to 256 bytes"},
	"long secret":    {packet(cancel, "\x00\x00\x00\x01"+strings.Repeat("s", 257)), "startup packet: byte 8: the key is not a process and a secret of 4 to 256 bytes"},
	"protocol 2":     {packet(2<<16, strings.Repeat("\x00", 288)), "protocol 2.0 is not supported: connect with protocol 3"},
	"protocol 4":     {packet(4<<16, "\x00"), "protocol 4.0 is not supported: connect with protocol 3"},
	"one too long":   {packet(v30, "user\x00"+strings.Repeat("a", pgwire.MaxPacket-8-6)+"\x00\x00"), "startup packet of 10005 bytes: at most 10004 are allowed"},
	"TLS hello":      {[]byte("\x16\x03\x01\x02\x00\x01"), "startup packet of 369295618 bytes: at most 10004 are allowed"},
	"HTTP":           {[]byte("GET / HTTP/1.1\r\n\r\n"), "startup packet of 1195725856 bytes: at most 10004 are allowed"},
	"negative":       {[]byte{0xff, 0xff, 0xff, 0xff}, "startup packet of 4294967295 bytes: at most 10004 are allowed"},
	"cut off":        {packet(v30, "user\x00a\x00\x00")[:12], "startup packet: 12 of 16 bytes: unexpected EOF"},
	"cut in length":  {[]byte{0, 0}, "startup packet: 2 of 4 bytes: unexpected EOF"},
	"nothing":        {nil, "EOF"},
}

func TestReadTakesOnePacketExactly(t *testing.T) {
	for name, raw := range accepted {
		t.Run(name, func(t *testing.T) {
			stream := bytes.NewReader(append(bytes.Clone(raw), "next"...))
			got, err := pgwire.Read(iotest.HalfReader(stream))
			if err != nil {
				t.Fatal(err)
			}
			if stream.Len() != len("next") {
				t.Errorf("%d bytes are left, want 4", stream.Len())
			}
			again, err := got.Append(nil)
			if err != nil || !bytes.Equal(again, raw) {
				t.Errorf("%v appends %q, want %q", err, again, raw)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			_, err := pgwire.Read(iotest.OneByteReader(bytes.NewReader(test.raw)))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestReadErrorsTellTheirKind(t *testing.T) {
	read := func(name string) error {
		_, err := pgwire.Read(bytes.NewReader(refused[name].raw))
		return err
	}
	if e, ok := errors.AsType[*pgwire.UnsupportedVersionError](read("protocol 2")); !ok || e.Version.Major() != 2 {
		t.Error("protocol 2 is not an UnsupportedVersionError")
	}
	if e, ok := errors.AsType[*pgwire.TooLongError](read("TLS hello")); !ok || e.Length>>24 != 0x16 {
		t.Error("a TLS hello is not a TooLongError")
	}
	if _, ok := errors.AsType[*pgwire.MalformedError](read("odd strings")); !ok {
		t.Error("odd strings are not a MalformedError")
	}
	if !errors.Is(read("nothing"), io.EOF) || !errors.Is(read("cut off"), io.ErrUnexpectedEOF) {
		t.Error("the end of the stream is not told apart")
	}
	broken := errors.New("broken")
	if _, err := pgwire.Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a reader's error came back as %v", err)
	}
}

func TestDecodeWantsTheWholePacket(t *testing.T) {
	raw := accepted["startup"]
	for _, bad := range [][]byte{nil, raw[:3], raw[:len(raw)-1], append(bytes.Clone(raw), 0)} {
		if _, err := pgwire.Decode(bad); err == nil {
			t.Errorf("%q was decoded", bad)
		}
	}
}

// TestReadAllocatesByWhatHasCome: a length is a promise, and memory is not paid in
// advance.
func TestReadAllocatesByWhatHasCome(t *testing.T) {
	for name, raw := range map[string][]byte{
		"announced":       {0, 0, 0x27, 0x14, 0, 3, 0, 0},
		"half of it":      packet(v30, strings.Repeat("a", 9_996))[:2_500],
		"bytes of a name": packet(v30, "user\x00a\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			if got := allocated(func() { pgwire.Read(bytes.NewReader(raw)) }); got > 10_000 {
				t.Errorf("%d bytes allocated for %d that came", got, len(raw))
			}
		})
	}
}

// allocated is how many bytes f allocates, of several runs the fewest.
func allocated(f func()) uint64 {
	least := ^uint64(0)
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

func TestParameters(t *testing.T) {
	p, err := pgwire.Decode(packet(v30, "user\x00a\x00x\x00\x00user\x00b\x00database\x00d\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	p.Parameters.Set("user", "c")
	p.Parameters.Set("new", "")
	p.Parameters.Delete("database")
	got, err := p.Append(nil)
	if want := packet(v30, "user\x00a\x00x\x00\x00user\x00c\x00new\x00\x00\x00"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
	if user, ok := p.Parameters.Get("user"); !ok || user != "c" {
		t.Errorf("user %q, %v; want that of the last", user, ok)
	}
	if _, ok := p.Parameters.Get("USER"); ok {
		t.Error("names are compared without case")
	}
}

func TestParametersThatTheWireCannotHold(t *testing.T) {
	for _, pair := range [][2]string{{"", "x"}, {"a\x00b", "x"}, {"a", "x\x00user\x00root"}} {
		p := pgwire.Packet{Kind: pgwire.Startup, Version: pgwire.Version30}
		p.Parameters.Set(pair[0], pair[1])
		if _, err := p.Append(nil); err == nil {
			t.Errorf("%q was appended", pair)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	long := pgwire.Packet{Kind: pgwire.Startup, Version: pgwire.Version30}
	long.Parameters.Set("user", strings.Repeat("a", pgwire.MaxPacket))
	for name, p := range map[string]pgwire.Packet{
		"too long": long, "no kind": {}, "no key": {Kind: pgwire.CancelRequest},
	} {
		if got, err := p.Append([]byte("before")); err == nil || string(got) != "before" {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
}

func TestRequests(t *testing.T) {
	if got := pgwire.AppendSSLRequest(nil); !bytes.Equal(got, accepted["TLS"]) {
		t.Errorf("SSLRequest %q", got)
	}
	got, err := pgwire.AppendCancelRequest(nil, pgwire.Key{PID: 1, Secret: "abcd"})
	if err != nil || !bytes.Equal(got, accepted["cancel"]) {
		t.Errorf("CancelRequest %v %q", err, got)
	}
}

func TestErrorResponse(t *testing.T) {
	e := pgwire.ErrorResponse{Severity: pgwire.Fatal, SQLSTATE: "28000", Message: "no \x00deployment", Hint: "say one"}
	raw := e.Append(nil)
	var got pgproto3.ErrorResponse
	if err := got.Decode(raw[5:]); err != nil || raw[0] != 'E' || int(binary.BigEndian.Uint32(raw[1:])) != len(raw)-1 {
		t.Fatalf("%v: %q", err, raw)
	}
	want := pgproto3.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "28000", Message: "no deployment", Hint: "say one",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	e.Hint = ""
	if bytes.ContainsRune(e.Append(nil), 'H') {
		t.Error("an empty hint is sent")
	}
}

// TestStartupAsPgproto3 compares with an independent reader, for what that accepts.
func TestStartupAsPgproto3(t *testing.T) {
	text := rapid.StringMatching(`[^\x00]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(text.Filter(func(s string) bool { return s != "" }), text).Draw(t, "parameters")
		version := rapid.SampledFrom([]uint32{v30, v32}).Draw(t, "version")
		raw, err := (&pgproto3.StartupMessage{ProtocolVersion: version, Parameters: want}).Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgwire.Read(bytes.NewReader(raw))
		if err != nil || uint32(got.Version) != version {
			t.Fatalf("version %s, %v", got.Version, err)
		}
		parameters := maps.Collect(got.Parameters.All())
		if diff := cmp.Diff(want, parameters); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, raw := range accepted {
		f.Add(raw)
	}
	for _, test := range refused {
		f.Add(test.raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		stream := bytes.NewReader(raw)
		got, err := pgwire.Read(stream)
		if err != nil {
			return
		}
		whole := raw[:len(raw)-stream.Len()]
		if again, err := got.Append(nil); err != nil || !bytes.Equal(again, whole) {
			t.Errorf("read %q, appended %q, %v", whole, again, err)
		}
		comparePgproto3(t, got, whole)
	})
}

// comparePgproto3 holds a packet against what pgproto3 reads, which knows no other
// version than 3.0 and 3.2.
func comparePgproto3(t *testing.T, got pgwire.Packet, raw []byte) {
	t.Helper()
	their, err := pgproto3.NewBackend(bytes.NewReader(raw), io.Discard).ReceiveStartupMessage()
	switch their := their.(type) {
	case *pgproto3.StartupMessage:
		for name, value := range their.Parameters {
			if mine, _ := got.Parameters.Get(name); err == nil && mine != value {
				t.Errorf("%q is %q, pgproto3 says %q", name, mine, value)
			}
		}
	case *pgproto3.CancelRequest:
		if err == nil && (got.Key.PID != their.ProcessID || got.Key.Secret != string(their.SecretKey)) {
			t.Errorf("key %v, pgproto3 says %v", got.Key, their)
		}
	}
}
