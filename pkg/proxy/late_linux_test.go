package proxy

import (
	"testing"
	"time"
)

// TestLateLoopSaysLastWords: that a loop was busy elsewhere is no fault of a client.
func TestLateLoopSaysLastWords(t *testing.T) {
	for _, d := range dresses[:3] {
		t.Run(d.name, func(t *testing.T) {
			const linger = 200 * time.Millisecond
			s := relayed(t, d, Options{Linger: linger})
			free := occupy(t, s)
			if !s.End(func() (Final, bool) { return Final{ToA: []byte("fatal")}, true }) {
				t.Fatal("refused")
			}
			<-time.After(linger + linger/2)
			free()
			expect(t, s.a, "fatal")
			expectEnd(t, s.a)
		})
	}
}

// occupy keeps the loop of a relay busy, with another one's bytes, until free is called.
func occupy(t *testing.T, s *session) (free func()) {
	t.Helper()
	entered, leave := make(chan struct{}), make(chan struct{})
	for wanted := s.seatedOn(t); ; {
		hog := relayed(t, dresses[0], Options{FromA: func(chunk []byte) Verdict {
			if chunk[0] == '!' {
				close(entered)
				<-leave
			}
			return Verdict{}
		}})
		if hog.seatedOn(t) == wanted {
			send(t, hog.a, "!")
			<-entered
			return func() { close(leave) }
		}
	}
}

// seatedOn is the loop that carries a relay's bytes.
func (s *session) seatedOn(t *testing.T) *loop {
	t.Helper()
	send(t, s.a, "x")
	expect(t, s.b, "x")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.circuit.loop
}
