package experiment

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// mortal is a proxy that refuses every question and ends some time after it was made.
type mortal struct {
	proxy.Proxy
	exited chan struct{}
}

var (
	errRefused = errors.New("connection refused")
	errEnded   = errors.New("prog ended with exit status 139: a worker crashed")
)

func (m mortal) Belief(context.Context) (proxy.Belief, error) { return proxy.Belief{}, errRefused }
func (m mortal) Exited() <-chan struct{}                      { return m.exited }

func (m mortal) Ended() error {
	select {
	case <-m.exited:
		return errEnded
	default:
		return nil
	}
}

// What a call of a dead proxy meets hides how it died, also if that is seen a little
// later.
func TestACallOfADeadProxySaysHowItDied(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  error
	}{
		"dead":              {0, errEnded},
		"about to be seen":  {noticed / 2, errEnded},
		"alive, but unwell": {noticed * 2, errRefused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := mortal{exited: make(chan struct{})}
				time.AfterFunc(c.after, func() { close(m.exited) })
				synctest.Wait()
				o := &observer{proxy: m, record: newRecord(new(Clock).Now, 0)}
				if err := (Experiment{Proxy: m}).asking(o.look)(t.Context()); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestWatchSaysHowTheProxyDied(t *testing.T) {
	m := mortal{exited: make(chan struct{})}
	close(m.exited)
	if err := (Experiment{Proxy: m}).watch(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("got %v, want %v", err, errEnded)
	}
}

// An answered request that is not in the proxy's log was not tried 0 times.
func TestUnlogged(t *testing.T) {
	requests := []lab.Request{{ID: 1, Outcome: lab.Answered}, {ID: 2, Outcome: lab.Reset}, {ID: 3, Outcome: lab.Answered}}
	for name, c := range map[string]struct {
		tries map[uint64]int
		want  string
	}{
		"no log":       {nil, ""},
		"whole":        {map[uint64]int{1: 1, 3: 2}, ""},
		"a line short": {map[uint64]int{1: 1, 2: 1}, "its log lacks 1 of 2 requests that backends answered, so its tries are not counted: ask for a lower rate"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := inOneLine(unlogged(requests, c.tries)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := inOneLine(nil, errRefused, nil, errEnded); got != "connection refused; prog ended with exit status 139: a worker crashed" {
		t.Errorf("got %q", got)
	}
}
