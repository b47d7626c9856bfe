package pgwire_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// server answers as a PostgreSQL backend does, message by message; what a statement is
// to do is the first byte of a message's payload. It knows the truth that a Tracker
// can only infer.
type server struct {
	out      []byte // what was not seen yet
	owed     int    // how much of it ends with an answer
	open     bool   // extended messages were taken since the last Sync or Query
	skipping bool
	copying  bool
	simple   bool // the COPY belongs to a Query
	late     bool // the transaction will fail at its end
	tx       byte
	dead     bool
	vague    bool // a COPY failed in a way that answers do not tell
}

// What a statement is to do.
const (
	works, fails, copies, copiesInVain, copiesOut, begins, ends, failsLate = '0', 'e', 'i', 't', 'o', 'b', 'm', 'x'
)

// silent tells whether the backend waits for the client, outside a transaction.
func (s *server) silent() bool {
	return !s.open && !s.skipping && !s.copying && !s.dead && s.tx == 'I' && s.owed <= 0
}

func (s *server) say(kind byte, payload string) {
	s.out = append(s.out, message(kind, payload)...)
	s.owed = len(s.out)
}

func (s *server) ready() {
	s.say('Z', string(s.tx))
	s.open, s.skipping, s.copying = false, false, false
}

func (s *server) fail(simple bool) {
	s.say('E', payloads["E"])
	s.copying, s.late = false, false
	if s.tx == 'T' {
		s.tx = 'E'
	}
	if simple {
		s.ready()
	} else {
		s.skipping, s.open = true, true
	}
}

// take takes one message of the client.
func (s *server) take(kind, does byte) {
	switch {
	case s.copying:
		s.takeCopy(kind, does)
	case kind == 'd' || kind == 'c' || kind == 'f': // left over
	case s.skipping && kind != 'S', kind == 'H':
	case kind == 'S':
		s.sync()
	case kind == 'Q' || kind == 'F':
		s.open = false
		s.run(does, true)
	case does == fails:
		s.fail(false)
	case kind == 'E':
		s.open = true
		s.run(does, false)
	default:
		s.open = true
		s.say(map[byte]byte{'P': '1', 'B': '2', 'C': '3', 'D': 'n'}[kind], "")
	}
}

func (s *server) sync() {
	if s.late && s.tx == 'I' && !s.skipping {
		s.say('E', payloads["E"])
	}
	s.late = false
	s.ready()
}

func (s *server) run(does byte, simple bool) {
	switch does {
	case fails:
		s.fail(simple)
		return
	case copies, copiesInVain:
		s.say('G', "")
		s.copying, s.simple = true, simple
		if does == copiesInVain {
			s.failCopy()
		}
		return
	case copiesOut:
		for _, kind := range []byte("Hddc") {
			s.say(kind, "")
		}
	case begins:
		s.tx = 'T'
	case ends:
		s.tx = 'I'
	case failsLate:
		s.late = !simple
	}
	s.complete(simple)
}

func (s *server) complete(simple bool) {
	s.say('C', "")
	if simple {
		s.ready()
	}
}

func (s *server) failCopy() {
	s.vague = s.vague || !s.simple
	s.fail(s.simple)
}

func (s *server) takeCopy(kind, does byte) {
	switch {
	case kind == 'S' || kind == 'H': // passed over
		s.vague = s.vague || s.simple // nobody sends a Sync in a simple COPY
	case kind == 'f', kind == 'd' && does == fails:
		s.failCopy()
	case kind == 'd':
	case kind == 'c':
		s.copying = false
		s.complete(s.simple)
	default:
		s.dead = true
	}
}

// conversation is a client, a server and a tracker between them.
type conversation struct {
	tracker pgwire.Tracker
	server  server
	wire    []byte    // what the client sent and the tracker did not see yet
	sent    [][2]byte // the messages of the wire, and those that the server is to take
	ends    []int     // of each message that the tracker did not see whole
	copies  int       // that the client asked for and did not end
	asked   bool      // for a COPY, whose end was not seen yet
	blind   bool      // more was asked then
}

func (c *conversation) send(kind, does byte) {
	c.wire = append(c.wire, message(kind, string(does)+"payload")...)
	c.sent = append(c.sent, [2]byte{kind, does})
	c.ends = append(c.ends, len(c.wire))
}

// offer sends what a client may: it ends no COPY that it did not ask for, and none
// after it has asked for something else.
func (c *conversation) offer(t *rapid.T, kind, does byte) {
	switch asks := does == copies || does == copiesInVain; {
	case kind == 'c' || kind == 'f':
		if c.copies == 0 {
			t.Skip("no COPY to end")
		}
		c.copies--
	case kind == 'S' || kind == 'H' || kind == 'd':
	default:
		c.blind = c.blind || c.asked
		c.copies = 0
		if asks && (kind == 'Q' || kind == 'F' || kind == 'E') {
			c.copies, c.asked = 1, true
		}
	}
	c.send(kind, does)
}

// forward lets n bytes of the client through.
func (c *conversation) forward(n int) {
	_ = c.tracker.Frontend(c.wire[:n])
	c.wire = c.wire[n:]
	for i := range c.ends {
		c.ends[i] -= n
	}
	for len(c.ends) > 0 && c.ends[0] <= 0 {
		c.ends = c.ends[1:]
	}
}

// take lets the server take a message that has come, and tells whether there was one.
func (c *conversation) take() bool {
	if len(c.sent) == len(c.ends) || c.server.dead {
		return false
	}
	m := c.sent[0]
	c.sent = c.sent[1:]
	c.server.take(m[0], m[1])
	return true
}

func (c *conversation) answer(n int) {
	c.tracker.Backend(c.server.out[:n])
	c.server.out = c.server.out[n:]
	c.server.owed -= n
	c.asked = c.asked && (!c.idle() || len(c.wire) > 0)
}

// idle is the truth: everything that was forwarded is whole, taken and answered. What a
// server outside COPY passes over need not be taken.
func (c *conversation) idle() bool {
	for _, m := range c.sent[:len(c.sent)-len(c.ends)] {
		if m[0] != 'H' && m[0] != 'd' && m[0] != 'c' && m[0] != 'f' {
			return false
		}
	}
	whole := len(c.ends) == 0 || c.ends[0] == messageSize
	return whole && c.server.silent()
}

// messageSize is that of a message of a conversation's client.
const messageSize = 5 + 1 + len("payload")

// settle lets everything through.
func (c *conversation) settle() {
	c.forward(len(c.wire))
	for c.take() {
	}
	c.answer(len(c.server.out))
}

// TestTrackerAgainstTheTruth plays random conversations in random pieces. A session
// must never be called idle when it is not, and must be called idle when it is, unless
// answers do not tell.
func TestTrackerAgainstTheTruth(t *testing.T) {
	kinds := rapid.SampledFrom([]byte("PBDECHSSSQQFdcf"))
	deeds := rapid.SampledFrom([]byte("00000eitobmx"))
	rapid.Check(t, func(t *rapid.T) {
		c := &conversation{server: server{tx: 'I', out: script(login)}}
		c.settle()
		check := func() {
			truth, belief := c.idle(), c.tracker.Idle()
			if belief && !truth {
				t.Fatal("called idle, and is not")
			}
			if truth && !belief && !c.server.vague && len(c.server.out) == 0 {
				t.Fatal("is idle, and not called so")
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				if len(c.sent) > 6 {
					t.Skip("enough is under way")
				}
				c.offer(t, kinds.Draw(t, "kind"), deeds.Draw(t, "deed"))
			},
			"forward": func(t *rapid.T) { c.forward(rapid.IntRange(0, len(c.wire)).Draw(t, "bytes")) },
			"take":    func(*rapid.T) { c.take() },
			"notice":  func(*rapid.T) { c.notice() },
			"answer":  func(t *rapid.T) { c.answer(rapid.IntRange(0, len(c.server.out)).Draw(t, "bytes")) },
			"":        func(*rapid.T) { check() },
		})
		c.finish(t)
	})
}

// notice lets the server say what is no answer, which it may at any time.
func (c *conversation) notice() {
	c.server.out = append(c.server.out, script("N A S")...)
	if len(c.server.out) == len(script("N A S")) {
		c.answer(len(c.server.out))
	}
}

// finish ends whatever is under way; whatever was vague, two commands later a tracker
// knows.
func (c *conversation) finish(t *rapid.T) {
	c.settle()
	for _, kind := range []byte("cSS") {
		c.send(kind, works)
		c.settle()
	}
	c.send('Q', ends)
	c.settle()
	c.send('Q', works)
	c.settle()
	if c.server.dead || c.server.vague && c.blind {
		return
	}
	if !c.idle() || !c.tracker.Idle() {
		t.Fatalf("at the end, idle is %v and called %v", c.idle(), c.tracker.Idle())
	}
}
