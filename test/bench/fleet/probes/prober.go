// Package probes measures what it costs to probe many proxies: the engine in a process of
// its own, with proxies and targets in another one, over loopback.
package probes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
)

// task is what a prober does in a process of its own.
type task struct {
	Proxies  int
	Port     int // of each proxy
	URL      string
	Interval time.Duration
	Rounds   int // intervals that are measured, after one that is not
}

// cost is what it took.
type cost struct {
	Probes   int64
	Failed   int64
	CPU      time.Duration
	Wall     time.Duration
	Heap     int64 // bytes, once all were probed
	InFlight int64 // at once, at most
	Writes   int64 // that were worth it while it was measured
}

func (c cost) String() string {
	return fmt.Sprintf("%d probes in %v, %d failed: %.3f core, %v a probe, at most %d at once, %d writes",
		c.Probes, c.Wall.Round(time.Millisecond), c.Failed, c.cores(), c.CPU/time.Duration(max(1, c.Probes)), c.InFlight, c.Writes)
}

func (c cost) cores() float64 { return c.CPU.Seconds() / c.Wall.Seconds() }

// tally counts what an engine does.
type tally struct {
	probes, failed, writes, flying, most atomic.Int64
}

func (t *tally) Probe(_ string, r health.Result) {
	t.probes.Add(1)
	if r.Class != health.OK {
		t.failed.Add(1)
	}
}
func (t *tally) Forget(string)  {}
func (t *tally) Suspended(bool) {}

func (t *tally) probe(ctx context.Context, p health.Proxy) health.Result {
	now := t.flying.Add(1)
	defer t.flying.Add(-1)
	for {
		if most := t.most.Load(); now <= most || t.most.CompareAndSwap(most, now) {
			break
		}
	}
	return health.Probe(ctx, p)
}

// probe carries out a task and writes its cost to standard output.
func probe(text string) error {
	var do task
	if err := json.Unmarshal([]byte(text), &do); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	before := heap()
	t := &tally{}
	e := health.New(health.Options{Metrics: t, Probe: t.probe, Emit: func(string) bool {
		t.writes.Add(1)
		return true
	}})
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { e.Run(ctx) })
	for i := range do.Proxies {
		e.Set(do.proxy(i), time.Now())
	}
	time.Sleep(do.Interval) // each has been probed, and has its place
	out := do.measure(t)
	cancel()
	run.Wait()
	out.Heap = heap() - before
	runtime.KeepAlive(e)
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		return fmt.Errorf("write the cost: %w", err)
	}
	return nil
}

func (do task) measure(t *tally) cost {
	probes, failed, writes := t.probes.Load(), t.failed.Load(), t.writes.Load()
	cpu, began := spent(), time.Now()
	time.Sleep(time.Duration(do.Rounds) * do.Interval)
	return cost{
		CPU: spent() - cpu, Wall: time.Since(began), Probes: t.probes.Load() - probes, Failed: t.failed.Load() - failed,
		Writes: t.writes.Load() - writes, InFlight: t.most.Load(),
	}
}

// addresses is how many loopback addresses the proxies share: each has only so many ports.
const addresses = 32

func address(i int) string { return fmt.Sprintf("127.1.0.%d", i%addresses+1) }

// proxy is one of those that a leader takes over.
func (do task) proxy(i int) health.Proxy {
	return health.Proxy{
		Key: fmt.Sprintf("crawl/p%05d", i), UID: fmt.Sprintf("uid-%d", i), Instance: "i",
		Scheme: "http", Host: address(i), Port: do.Port,
		Check: health.Check{URL: do.URL, Interval: do.Interval, Timeout: 5 * time.Second, SuccessThreshold: 2, FailureThreshold: 3},
		Known: &health.Known{Healthy: true, Latency: time.Millisecond, At: time.Now()},
	}
}

// spent is the time that this process has had of processors.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // it is small
}
