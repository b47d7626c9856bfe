package arena

import (
	"encoding/binary"
	"net/netip"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// segment is what counts of one TCP segment between a client and a backend.
type segment struct {
	flow
	toBackend          bool
	syn, ack, fin, rst bool
	seq, acked         uint32
	payload            int // bytes
}

// flow is a connection by its ends, as seen in its packets.
type flow struct{ client, backend netip.AddrPort }

// The flags of RFC 9293, section 3.1.
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	_
	flagACK
)

const (
	protocolTCP   = 6
	shortestIP    = 20
	shortestTCP   = 20
	fragmentsMask = 0x1fff
)

// decode reads an IPv4 packet (RFC 791), which may be cut after its TCP header. False
// means that it is no segment to or from a backend.
func decode(packet []byte) (s segment, ok bool) {
	if len(packet) < shortestIP || packet[0]>>4 != 4 || packet[9] != protocolTCP {
		return s, false
	}
	header, total := int(packet[0]&15)*4, int(binary.BigEndian.Uint16(packet[2:]))
	if header < shortestIP || len(packet) < header+shortestTCP || binary.BigEndian.Uint16(packet[6:])&fragmentsMask != 0 {
		return s, false
	}
	tcp := packet[header:]
	offset := int(tcp[12]>>4) * 4
	if offset < shortestTCP || total < header+offset {
		return s, false
	}
	flags := tcp[13]
	s = segment{
		syn: flags&flagSYN != 0, ack: flags&flagACK != 0, fin: flags&flagFIN != 0, rst: flags&flagRST != 0,
		seq: binary.BigEndian.Uint32(tcp[4:]), acked: binary.BigEndian.Uint32(tcp[8:]),
		payload: total - header - offset,
	}
	from := netip.AddrPortFrom(netip.AddrFrom4([4]byte(packet[12:16])), binary.BigEndian.Uint16(tcp))
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte(packet[16:20])), binary.BigEndian.Uint16(tcp[2:]))
	s.toBackend = isBackend(to)
	if s.toBackend {
		s.flow = flow{client: from, backend: to}
	} else {
		s.flow = flow{client: to, backend: from}
	}
	return s, s.toBackend || isBackend(from)
}

func isBackend(a netip.AddrPort) bool { return a.Port() == proxy.BackendPort && Net.Contains(a.Addr()) }
