package proxytest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// Contract holds a proxy to the contract of [proxy.Proxy]. swap puts another program
// in the place of the one that Start runs first.
func Contract(t *testing.T, d proxy.Description, swap func(o *proxy.Options, program string)) {
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, known) })
	t.Run("follows its backends", func(t *testing.T) { follows(t, d) })
	t.Run("follows rapid changes", func(t *testing.T) { churn(t, d) })
	t.Run("ends by itself", func(t *testing.T) { endsByItself(t, d) })
	t.Run("finds its port busy", func(t *testing.T) { busyPort(t, d) })
	t.Run("dies at once", func(t *testing.T) {
		failure := failedStart(t, d, patience, swapped(t, d, swap, "echo 'boom: no such thing' >&2; exit 3"))
		if !strings.HasSuffix(failure, ": boom: no such thing") || !strings.Contains(failure, "exit status 3") {
			t.Errorf("error %q, want how the program ended and its last line", failure)
		}
	})
	t.Run("never gets ready", func(t *testing.T) {
		failure := failedStart(t, d, 300*time.Millisecond, swapped(t, d, swap, "echo 'still thinking'; exec sleep 1000"))
		if !strings.Contains(failure, "does not get ready") || !strings.HasSuffix(failure, ": still thinking") {
			t.Errorf("error %q, want that the program does not get ready, and its last line", failure)
		}
	})
}

// follows is the life of a proxy.
func follows(t *testing.T, d proxy.Description) {
	one, two, three := Backend(1), Backend(2), Backend(3)
	l := Start(t, d, Options(t, d))
	defer l.watch()()
	l.Believes()
	without := l.Fails()
	l.Run(one, two, three)

	l.Tell(one, two)
	l.Believes(one, two)
	answered := l.Reaches(one, two)

	l.Tell(three, two) // one comes, one goes
	l.Believes(two, three)
	answered = append(answered, l.Reaches(two, three)...)

	l.Tell(two)
	l.Believes(two)
	answered = append(answered, l.Reaches(two)...)

	l.Kill(two)
	dead := l.Fails()
	l.Believes(two) // nobody has told it
	l.Tell()
	l.Believes()
	l.Fails()

	select {
	case <-l.Exited():
		t.Error("it has ended by itself, it says")
	default:
		must(t, l.Ended())
	}
	checkAttempts(l, without, dead, answered)
}

// watch asks for the belief beside everything else, as an experiment does, until it is
// stopped.
func (l *Leg) watch() (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(poll)
		defer tick.Stop()
		for ctx.Err() == nil {
			if _, err := l.Belief(ctx); err != nil && ctx.Err() == nil {
				l.t.Errorf("belief beside other calls: %v", err)
			}
			<-tick.C
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// checkAttempts compares the proxy's own log with what became of requests.
func checkAttempts(l *Leg, without, dead Answer, answered []Answer) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	attempts, err := l.Attempts(ctx)
	must(l.t, err)
	if attempts == nil {
		l.t.Log("it keeps no log of attempts")
		return
	}
	if got, logged := attempts[without.ID]; got > 1 || !logged {
		l.t.Errorf("without a backend: %d attempts, logged: %t", got, logged)
	}
	if attempts[dead.ID] < 1 {
		l.t.Errorf("with a dead backend: %d attempts", attempts[dead.ID])
	}
	for _, a := range answered {
		if attempts[a.ID] != 1 {
			l.t.Errorf("request %d, answered by %s: %d attempts, want 1", a.ID, a.Backend, attempts[a.ID])
		}
	}
}

// endsByItself kills the first process, as a crash would.
func endsByItself(t *testing.T, d proxy.Description) {
	l := Start(t, d, Options(t, d))
	must(t, unix.Kill(l.Processes()[0], unix.SIGKILL))
	select {
	case <-l.Exited():
	case <-time.After(patience):
		t.Fatal("Exited is not closed")
	}
	how := l.Ended()
	t.Log(how)
	if how == nil || !strings.Contains(how.Error(), " ended with signal: killed") || strings.Contains(how.Error(), "\n") {
		t.Errorf("it says that it ended as %v, want one line with how: it was killed", how)
	}
}

// busyPort starts a proxy beside somebody who answers at its port.
func busyPort(t *testing.T, d proxy.Description) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", proxy.ListenAddress)
	must(t, err)
	defer listener.Close()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprint(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			connection.Close()
		}
	}()
	failure := failedStart(t, d, 6*time.Second, Options(t, d))
	if !strings.Contains(failure, proxy.ListenAddress) && !strings.Contains(failure, "8000") {
		t.Errorf("error %q, want the port that is busy", failure)
	}
}

// failedStart starts a proxy that cannot, and returns the error's text.
func failedStart(t *testing.T, d proxy.Description, timeout time.Duration, o proxy.Options) string {
	t.Helper()
	before := Processes(t)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	err := d.New(o).Start(ctx)
	if err == nil {
		t.Fatal("it starts")
	}
	t.Log(err)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has more than one line", err)
	}
	NothingLeft(t, before)
	return err.Error()
}

// swapped puts a shell script in the place of the program.
func swapped(t *testing.T, d proxy.Description, swap func(*proxy.Options, string), script string) proxy.Options {
	t.Helper()
	o := Options(t, d)
	path := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	swap(&o, path)
	return o
}
