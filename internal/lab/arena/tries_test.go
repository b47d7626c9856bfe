package arena

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// story is one connection, told segment by segment, and what it must count as.
type story struct {
	segments []passage
	want     []bool // of each try in vain, whether it was refused
}

type passage struct {
	segment
	swallowed bool
}

// script writes the story of one connection as its two ends would, with every segment
// of the client repeated as often as drawn.
type script struct {
	*rapid.T
	story

	flow      flow
	seq, peer uint32 // the next numbers of client and backend
}

func (s *script) client(swallowed bool, g segment) {
	g.flow, g.toBackend, g.seq, g.acked = s.flow, true, s.seq, s.peer
	for range rapid.IntRange(1, 3).Draw(s.T, "times") {
		s.segments = append(s.segments, passage{g, swallowed})
	}
}

func (s *script) backend(g segment) {
	g.flow = s.flow
	s.segments = append(s.segments, passage{g, false})
}

func (s *script) count(refused bool) { s.want = append(s.want, refused) }

func (s *script) data(swallowed bool) {
	size := rapid.IntRange(1, 60000).Draw(s.T, "size")
	s.client(swallowed, segment{ack: true, payload: size})
	s.seq += uint32(size)
}

// open opens the connection, or not, and tells whether it did.
func (s *script) open() bool {
	end := rapid.SampledFrom([]string{"answered", "refused", "swallowed", "unheard"}).Draw(s.T, "opening")
	s.client(end == "swallowed", segment{syn: true})
	isn := s.seq
	s.seq++
	switch end {
	case "answered":
		s.backend(segment{syn: true, ack: true, seq: s.peer, acked: s.seq})
		s.peer++
		return true
	case "refused":
		s.backend(segment{rst: true, ack: true, acked: isn + 1})
		s.count(true)
	default:
		s.count(false)
	}
	return false
}

// use sends requests that are answered.
func (s *script) use() {
	for range rapid.IntRange(0, 3).Draw(s.T, "requests") {
		s.data(false)
		s.peer += uint32(rapid.IntRange(1, 60000).Draw(s.T, "answer"))
	}
}

// end ends an open connection.
func (s *script) end() {
	switch rapid.SampledFrom([]string{"close", "abort", "unknown", "swallowed", "killed", "lost"}).Draw(s.T, "end") {
	case "close":
		s.client(false, segment{fin: true, ack: true})
		s.backend(segment{rst: true, seq: s.peer})
	case "abort":
		s.client(false, segment{rst: true})
	case "unknown": // the backend had closed
		s.peer++
		s.data(false)
		s.backend(segment{rst: true, seq: s.peer})
		s.count(true)
	case "swallowed":
		s.data(true)
		s.data(true)
		s.client(true, segment{fin: true, ack: true})
		s.client(true, segment{ack: true})
		s.count(false)
	case "killed": // with a request that it had taken
		s.data(false)
		s.backend(segment{rst: true, ack: true, seq: s.peer, acked: s.seq})
	case "lost": // only the repetitions of what it had taken are swallowed
		s.data(false)
		last := s.segments[len(s.segments)-1].segment
		s.segments = append(s.segments, passage{last, true}, passage{last, true})
	}
}

// TestTriesOfManyConnections: whatever happens on many connections at once, each counts
// as it would alone.
func TestTriesOfManyConnections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stories []story
		for i := range rapid.IntRange(1, 6).Draw(t, "connections") {
			s := &script{T: t, flow: flow{
				client:  netip.AddrPortFrom(Source, uint16(40000+i)),
				backend: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i % 2)}), 8080),
			}, seq: rapid.Uint32().Draw(t, "client"), peer: rapid.Uint32().Draw(t, "backend")}
			for range rapid.IntRange(1, 2).Draw(t, "uses") { // of one pair of ports
				if s.open() {
					s.use()
					s.end()
				}
				s.seq += 1 << 20
			}
			stories = append(stories, s.story)
		}
		if want, got := expected(stories), counted(t, stories); got != want {
			t.Fatalf("counted %+v, want %+v", got, want)
		}
	})
}

type sum struct{ refused, silent int }

func (s *sum) add(refused bool) {
	if refused {
		s.refused++
	} else {
		s.silent++
	}
}

func expected(stories []story) (all [2]sum) {
	for i, s := range stories {
		for _, refused := range s.want {
			all[i%2].add(refused)
		}
	}
	return all
}

// counted feeds the segments of all stories, shuffled together, as packets.
func counted(t *rapid.T, stories []story) (all [2]sum) {
	found, at := newTries(), lab.Moment(0)
	left := 0
	for _, s := range stories {
		left += len(s.segments)
	}
	next := make([]int, len(stories))
	for left > 0 {
		i := rapid.IntRange(0, len(stories)-1).Draw(t, "turn")
		if next[i] == len(stories[i].segments) {
			continue
		}
		p := stories[i].segments[next[i]]
		next[i]++
		left--
		at++
		s, ok := decode(encode(p.segment))
		if !ok || s != p.segment {
			t.Fatalf("decoded %+v, was %+v", s, p.segment)
		}
		found.see(at, s, p.swallowed)
	}
	for _, f := range found.inVain() {
		all[f.address.As4()[3]].add(f.refused)
	}
	return all
}

// encode writes the headers of a packet.
func encode(s segment) []byte {
	from, to := s.client, s.flow.backend
	if !s.toBackend {
		from, to = to, from
	}
	const headers = 40
	p := make([]byte, headers)
	p[0], p[9], p[32] = 0x45, protocolTCP, 5<<4
	binary.BigEndian.PutUint16(p[2:], uint16(headers+s.payload))
	copy(p[12:], from.Addr().AsSlice())
	copy(p[16:], to.Addr().AsSlice())
	binary.BigEndian.PutUint16(p[20:], from.Port())
	binary.BigEndian.PutUint16(p[22:], to.Port())
	binary.BigEndian.PutUint32(p[24:], s.seq)
	binary.BigEndian.PutUint32(p[28:], s.acked)
	for flag, set := range map[byte]bool{flagFIN: s.fin, flagSYN: s.syn, flagRST: s.rst, flagACK: s.ack} {
		if set {
			p[33] |= flag
		}
	}
	return p
}

// FuzzDecode: any bytes are a segment of a backend, or none, and never more than that;
// what follows the headers changes nothing.
func FuzzDecode(f *testing.F) {
	one := netip.MustParseAddrPort("10.0.1.11:8080")
	f.Add(encode(segment{flow: flow{netip.MustParseAddrPort("10.0.0.1:40000"), one}, toBackend: true, syn: true}))
	f.Add(encode(segment{flow: flow{netip.MustParseAddrPort("10.0.0.1:40000"), one}, rst: true, ack: true}))
	f.Add(encode(segment{flow: flow{netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("10.0.1.11:8081")}, toBackend: true}))
	f.Add([]byte{0x4f, 0, 0, 0, 0, 0, 0, 0, 0, 6})
	f.Fuzz(func(t *testing.T, packet []byte) {
		s, ok := decode(packet)
		if !ok {
			return
		}
		if !isBackend(s.flow.backend) || s.payload < 0 || s.payload > 65535-40 {
			t.Errorf("%+v", s)
		}
		if again, ok := decode(append(slices.Clip(packet), 1, 2, 3)); !ok || again != s {
			t.Errorf("%+v, followed by more %+v", s, again)
		}
		found := newTries()
		found.see(1, s, true)
		found.see(2, s, false)
		if n := len(found.inVain()); n > 1 {
			t.Errorf("%d tries of one segment", n)
		}
	})
}
