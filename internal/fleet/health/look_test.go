package health

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestLook: what people are told of probes is what has been and what comes.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var fails atomic.Bool
		e := New(Options{Emit: func(string) bool { return true }, Metrics: nobody{}, Probe: func(context.Context, Proxy) Result {
			time.Sleep(time.Second)
			if fails.Load() {
				return Result{Class: Dial, Message: "refused"}
			}
			return Result{Class: OK, Latency: time.Second}
		}})
		done := make(chan struct{})
		go func() { defer close(done); e.Run(ctx) }()
		began := time.Now()
		check := Check{Interval: 30 * time.Second, Timeout: 5 * time.Second, SuccessThreshold: 1, FailureThreshold: 2}
		e.Set(Proxy{Key: "crawl/a", UID: "1", Check: check}, began)
		first, there := e.Look("crawl/a")
		if !there || first.Last.Class != "" || first.InRow != 0 || !first.At.IsZero() || first.Next.Before(began) {
			t.Errorf("before the first probe: %+v", first)
		}
		time.Sleep(first.Next.Sub(began) + 500*time.Millisecond)
		synctest.Wait()
		if l, _ := e.Look("crawl/a"); !l.Next.IsZero() {
			t.Errorf("while a probe is under way: %+v", l)
		}
		time.Sleep(75 * time.Second)
		synctest.Wait()
		if l, _ := e.Look("crawl/a"); l.InRow < 2 || l.Last.Class != OK || !l.At.After(first.Next) || !l.Next.After(l.At) || l.Check.FailureThreshold != 2 {
			t.Errorf("after some good probes: %+v", l)
		}
		fails.Store(true)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if l, _ := e.Look("crawl/a"); l.InRow < 1 || l.Last.Class != Dial || !l.Suspended.IsZero() {
			t.Errorf("after a bad one: %+v", l)
		}
		if _, there := e.Look("crawl/b"); there {
			t.Error("there is a proxy that nobody probes")
		}
		cancel()
		<-done
	})
}

// nobody is told of probes in vain.
type nobody struct{}

func (nobody) Probe(string, Result) {}
func (nobody) Forget(string)        {}
func (nobody) Suspended(bool)       {}
