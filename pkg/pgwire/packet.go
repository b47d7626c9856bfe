package pgwire

import (
	"encoding/binary"
	"fmt"
)

// MaxPacket is the length of the longest packet that PostgreSQL accepts before
// authentication: 10,000 bytes after the length word of four.
const MaxPacket = 10_000 + lengthSize

const (
	lengthSize = 4
	minPacket  = 8 // the length and a version
)

// Version is a protocol version as a startup packet holds it: the major number in the
// high 16 bits, the minor in the low ones. Requests use the major number 1234.
type Version uint32

// Versions with a name.
const (
	Version30 Version = 3 << 16
	Version32 Version = 3<<16 | 2
)

const (
	requestMajor         = 1234
	cancelCode   Version = requestMajor<<16 | 5678
	sslCode      Version = requestMajor<<16 | 5679
	gssencCode   Version = requestMajor<<16 | 5680
)

// Major is the number before the dot.
func (v Version) Major() int { return int(v >> 16) }

// Minor is the number after the dot.
func (v Version) Minor() int { return int(v & 0xffff) }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }

// Kind says what a Packet asks for.
type Kind uint8

// Kinds of packets.
const (
	Startup        Kind = iota + 1 // a session, with Parameters
	SSLRequest                     // TLS: answered with one byte, S or N
	GSSENCRequest                  // GSSAPI encryption: answered with one byte, G or N
	CancelRequest                  // the end of what another session does, by its Key
	UnknownRequest                 // a request code 1234.x that nobody has defined yet
)

func (k Kind) String() string {
	switch k {
	case Startup:
		return "StartupMessage"
	case SSLRequest:
		return "SSLRequest"
	case GSSENCRequest:
		return "GSSENCRequest"
	case CancelRequest:
		return "CancelRequest"
	case UnknownRequest:
		return "unknown request"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// Packet is what a client sends before it is authenticated: all packets of this phase
// have a length and no type byte.
type Packet struct {
	Kind       Kind
	Version    Version    // of a Startup any 3.x as it was sent; of an UnknownRequest its code
	Parameters Parameters // of a Startup
	Key        Key        // of a CancelRequest
	Rest       string     // of an UnknownRequest: what follows its code
}

// Decode reads raw, one whole packet with its length. Append gives the same bytes back.
// Errors are MalformedError, TooLongError and UnsupportedVersionError.
func Decode(raw []byte) (Packet, error) {
	if len(raw) < lengthSize {
		return Packet{}, malformedPacket(len(raw), "the length is cut off")
	}
	length, err := packetLength(raw)
	if err != nil {
		return Packet{}, err
	}
	if length != len(raw) {
		return Packet{}, malformedPacket(0, "the length is not that of the packet")
	}
	return decodeBody(raw)
}

// packetLength is the announced length of the packet that begins with raw.
func packetLength(raw []byte) (int, error) {
	length := binary.BigEndian.Uint32(raw)
	switch {
	case length < minPacket:
		return 0, malformedPacket(0, "the length is less than 8")
	case length > MaxPacket:
		return 0, &TooLongError{Length: length}
	default:
		return int(length), nil
	}
}

func decodeBody(raw []byte) (Packet, error) {
	version, body := Version(binary.BigEndian.Uint32(raw[lengthSize:])), raw[minPacket:]
	switch version {
	case cancelCode:
		key, err := decodeKey(body)
		return Packet{Kind: CancelRequest, Version: version, Key: key}, err
	case sslCode:
		return decodeRequest(SSLRequest, version, body)
	case gssencCode:
		return decodeRequest(GSSENCRequest, version, body)
	default:
		return decodeVersion(version, body)
	}
}

func decodeVersion(version Version, body []byte) (Packet, error) {
	switch version.Major() {
	case 3:
		parameters, err := decodeParameters(body)
		return Packet{Kind: Startup, Version: version, Parameters: parameters}, err
	case requestMajor:
		return Packet{Kind: UnknownRequest, Version: version, Rest: string(body)}, nil
	default:
		return Packet{}, &UnsupportedVersionError{Version: version}
	}
}

func decodeRequest(kind Kind, version Version, body []byte) (Packet, error) {
	if len(body) != 0 {
		return Packet{}, malformedPacket(minPacket, kind.String()+" has a body")
	}
	return Packet{Kind: kind, Version: version}, nil
}

func malformedPacket(offset int, problem string) error {
	return &MalformedError{What: "startup packet", Offset: offset, Problem: problem}
}

// Append adds the packet's bytes to dst. Version matters for a Startup and an
// UnknownRequest only. A name or value that the wire cannot hold is a MalformedError,
// and a packet that no PostgreSQL would accept a TooLongError; dst is then unchanged.
func (p Packet) Append(dst []byte) ([]byte, error) {
	start := len(dst)
	out, err := p.appendBody(append(dst, 0, 0, 0, 0))
	if err != nil {
		return dst, err
	}
	length := len(out) - start
	if length > MaxPacket {
		return dst, &TooLongError{Length: uint32(length)}
	}
	binary.BigEndian.PutUint32(out[start:], uint32(length))
	return out, nil
}

func (p Packet) appendBody(out []byte) ([]byte, error) {
	switch p.Kind {
	case SSLRequest:
		return appendVersion(out, sslCode), nil
	case GSSENCRequest:
		return appendVersion(out, gssencCode), nil
	case CancelRequest:
		return p.Key.appendTo(appendVersion(out, cancelCode))
	case UnknownRequest:
		return append(appendVersion(out, p.Version), p.Rest...), nil
	case Startup:
		return p.Parameters.appendTo(appendVersion(out, p.Version))
	default:
		return nil, malformedPacket(lengthSize, "it is of no kind")
	}
}

func appendVersion(out []byte, v Version) []byte {
	return binary.BigEndian.AppendUint32(out, uint32(v))
}

// AppendSSLRequest adds an SSLRequest to dst.
func AppendSSLRequest(dst []byte) []byte {
	return appendVersion(append(dst, 0, 0, 0, minPacket), sslCode)
}
