package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestBackOff: 5 ms, doubled to 1 s; from the start again after a success.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &failing{errs: make(chan error)}
		var waits []time.Duration
		s := NewServer(echo, Limits{}, Watch{AcceptFailed: func(err error, wait time.Duration) {
			if !errors.Is(err, syscall.EMFILE) {
				t.Error(err)
			}
			waits = append(waits, wait/time.Millisecond)
		}})
		served := make(chan error)
		go func() { served <- s.Serve(t.Context(), ln) }()
		for range 10 {
			ln.errs <- syscall.EMFILE
		}
		ln.errs <- nil
		ln.errs <- syscall.EMFILE
		s.Stop()
		ln.errs <- net.ErrClosed
		if err := <-served; err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(waits); got != "[5ns 10ns 20ns 40ns 80ns 160ns 320ns 640ns 1µs 1µs 5ns]" {
			t.Error(got)
		}
		if err := s.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// failing is a listener that returns what it is told; nil is a connection.
type failing struct{ errs chan error }

func (f *failing) Accept() (net.Conn, error) {
	if err := <-f.errs; err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	return here, there.Close()
}
func (*failing) Close() error   { return nil }
func (*failing) Addr() net.Addr { return nil }

const roleExhausted = "exhausted"

func init() { roles[roleExhausted] = exhausted }

// TestTooManyOpenFiles runs a server whose process has no descriptor left, and
// that serves again once there are some.
func TestTooManyOpenFiles(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"="+roleExhausted)
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "served again") {
		t.Errorf("%v: %s", err, out)
	}
}

// exhausted is the child: it opens connections to itself until accepting fails.
func exhausted() int {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 40, Max: 40}); err != nil {
		return failed(err)
	}
	var emfile atomic.Int32
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return failed(err)
	}
	s := NewServer(echo, Limits{}, Watch{AcceptFailed: func(err error, _ time.Duration) {
		if errors.Is(err, syscall.EMFILE) {
			emfile.Add(1)
		}
	}})
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), ln) }()
	if err := floodAndServe(ln.Addr().String(), &emfile); err != nil {
		return failed(err)
	}
	s.Force()
	if err := errors.Join(s.Drain(context.Background()), <-served); err != nil {
		return failed(err)
	}
	fmt.Println("served again")
	return 0
}

// floodAndServe holds connections until accepting has failed three times, lets
// them go, and asks for an answer.
func floodAndServe(address string, emfile *atomic.Int32) error {
	var held []net.Conn
	for deadline := time.Now().Add(patience / 2); emfile.Load() < 3; {
		if time.Now().After(deadline) {
			return errors.New("accepting does not fail")
		}
		if c, err := net.Dial("tcp", address); err == nil {
			held = append(held, c)
		}
	}
	for _, c := range held {
		_ = c.Close()
	}
	return answered(address)
}

func answered(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience / 2))
	var answer [1]byte
	_, err = io.WriteString(c, "?")
	_, err2 := io.ReadFull(c, answer[:])
	return errors.Join(err, err2)
}

func failed(err error) int {
	fmt.Println(err)
	return 1
}
