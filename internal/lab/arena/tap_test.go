package arena_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
)

// client is a connection to a backend that is kept.
type client struct {
	*testing.T
	net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T) *client {
	t.Helper()
	c, err := net.DialTimeout("tcp", "10.0.1.11"+port, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{t, c, bufio.NewReader(c)}
}

// ask sends a request.
func (c *client) ask() {
	c.Helper()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: lab\r\n\r\n"); err != nil {
		c.Error(err)
	}
}

// begin sends a request and returns when the backend works on it.
func (c *client) begin() {
	c.Helper()
	_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: lab\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
	if err != nil {
		c.Fatal(err)
	}
	if line, err := c.answers.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		c.Fatalf("%q %v", line, err)
	}
	if _, err := c.answers.ReadString('\n'); err != nil { // the end of the headers
		c.Fatal(err)
	}
	if _, err := c.Write([]byte{0}); err != nil {
		c.Fatal(err)
	}
}

// answer reads an answer, or returns why there is none after a while in which requests
// are repeated several times.
func (c *client) answer() error {
	c.Helper()
	if err := c.SetReadDeadline(time.Now().Add(1500 * time.Millisecond)); err != nil {
		c.Fatal(err)
	}
	response, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func (c *client) mustAnswer() {
	c.Helper()
	if err := c.answer(); err != nil {
		c.Error(err)
	}
}

func (c *client) mustFail(how func(error) bool) {
	c.Helper()
	if err := c.answer(); err == nil || !how(err) {
		c.Errorf("answer: %v", err)
	}
}

// broken is what a client sees of a connection whose other end is gone.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

var (
	refusal = lab.TryInVain{Backend: "one", Refused: true}
	silence = lab.TryInVain{Backend: "one"}
)

// TestTriesInVain: what clients do at the address of backend one, and how often that
// was a try in vain.
func TestTriesInVain(t *testing.T) {
	for _, test := range []struct {
		name  string
		delay time.Duration
		do    func(t *testing.T, a *arena.Arena)
		want  []lab.TryInVain
	}{
		{"answers are not", 0, func(t *testing.T, _ *arena.Arena) {
			c := dial(t)
			for range 100 {
				c.ask()
				c.mustAnswer()
			}
		}, []lab.TryInVain{}},
		{"a refused connection", 0, func(t *testing.T, a *arena.Arena) {
			end(t, a, "one", lab.Kill)
			untilDead(t)
			if err := connect(time.Second); !refused(err) {
				t.Error(err)
			}
		}, []lab.TryInVain{refusal}},
		{"a connection that is never answered, with its repetitions", 0, func(t *testing.T, a *arena.Arena) {
			end(t, a, "one", lab.Vanish)
			if err := connect(3500 * time.Millisecond); !os.IsTimeout(err) {
				t.Error(err)
			}
		}, []lab.TryInVain{silence}},
		{"two connections that are never answered", 0, func(t *testing.T, a *arena.Arena) {
			end(t, a, "one", lab.Vanish)
			for range 2 {
				if err := connect(50 * time.Millisecond); !os.IsTimeout(err) {
					t.Error(err)
				}
			}
		}, []lab.TryInVain{silence, silence}},
		{"data on a connection that the dead do not know", 0, func(t *testing.T, a *arena.Arena) {
			c := dial(t)
			c.ask()
			c.mustAnswer()
			end(t, a, "one", lab.Kill)
			c.mustFail(broken)
			c.ask()
			c.mustFail(broken)
		}, []lab.TryInVain{refusal}},
		{"data on a kept connection to a vanished address, with its repetitions", 0, func(t *testing.T, a *arena.Arena) {
			c := dial(t)
			c.ask()
			c.mustAnswer()
			end(t, a, "one", lab.Vanish)
			c.ask()
			c.mustFail(os.IsTimeout)
		}, []lab.TryInVain{silence}},
		{"what is under way when it is killed is not", time.Minute, func(t *testing.T, a *arena.Arena) {
			c := dial(t)
			c.begin()
			end(t, a, "one", lab.Kill)
			c.mustFail(broken)
		}, []lab.TryInVain{}},
		{"what is under way when it vanishes is not, and meets silence", time.Minute, func(t *testing.T, a *arena.Arena) {
			c := dial(t)
			c.begin()
			end(t, a, "one", lab.Vanish)
			c.mustFail(os.IsTimeout)
		}, []lab.TryInVain{}},
		{"what is under way when it stops is answered", 200 * time.Millisecond, func(t *testing.T, a *arena.Arena) {
			c := dial(t)
			c.begin()
			end(t, a, "one", lab.Stop)
			c.mustAnswer()
		}, []lab.TryInVain{}},
		{"of an old connection at the next owner of the address", 0, func(t *testing.T, a *arena.Arena) {
			c := dial(t)
			c.ask()
			c.mustAnswer()
			end(t, a, "one", lab.Vanish)
			start(t, a, "two", "10.0.1.11")
			c.ask()
			c.mustFail(broken)
		}, []lab.TryInVain{{Backend: "two", Refused: true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newSlowArena(t, test.delay)
			start(t, a, "one", "10.0.1.11")
			test.do(t, a)
			got, err := a.TriesInVain()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(lab.TryInVain{}, "At")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestATryIsDated: by when its packet was sent.
func TestATryIsDated(t *testing.T) {
	clock := newClock()
	a := newArenaAt(t, clock, 0)
	start(t, a, "one", "10.0.1.11")
	end(t, a, "one", lab.Vanish)
	moments := []lab.Moment{clock()}
	for range 3 {
		if err := connect(50 * time.Millisecond); !os.IsTimeout(err) {
			t.Fatal(err)
		}
		moments = append(moments, clock())
	}
	got, err := a.TriesInVain()
	if err != nil || len(got) != 3 {
		t.Fatalf("%v %v, want three", got, err)
	}
	const slack = lab.Moment(time.Millisecond) // two clocks are read
	for i, try := range got {
		if try.At < moments[i]-slack || try.At > moments[i+1]+slack {
			t.Errorf("try %d is at %v, want from %v to %v", i, try.At, moments[i], moments[i+1])
		}
	}
}
