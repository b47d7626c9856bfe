package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// load is a steady stream of requests to one host, to whatever backend.
type load struct {
	request rig.Request
	// pause is between the requests of a client; 0 sends as fast as they are answered.
	pause time.Duration
	// fresh opens a connection for each request.
	fresh bool

	answered, failed, wrong atomic.Int64
	first                   atomic.Pointer[error]
	stop                    func()
}

// load starts some clients that each send one request after another until stop.
func (s *stage) load(t *testing.T, host string, clients int) *load {
	t.Helper()
	l := &load{request: rig.Request{Port: s.http, Host: host}}
	l.start(t, clients)
	return l
}

func (l *load) start(t *testing.T, clients int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range clients {
		running.Go(func() { l.send(ctx) })
	}
	l.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(l.stop)
}

func (l *load) send(ctx context.Context) {
	client := rig.NewClient(l.request)
	defer client.Close()
	tick := time.NewTicker(max(l.pause, time.Nanosecond))
	defer tick.Stop()
	for ctx.Err() == nil {
		l.once(ctx, client)
		if l.pause == 0 {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (l *load) once(ctx context.Context, client *rig.Client) {
	do := client.Do
	if l.fresh {
		do = rig.Do
	}
	got, err := do(ctx, l.request)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.fail(err)
	case got.Status != 200:
		l.fail(fmt.Errorf("%d %s", got.Status, got.Body))
	case got.Answer.Host != l.request.Host:
		l.wrong.Add(1)
	default:
		l.answered.Add(1)
	}
}

func (l *load) fail(err error) {
	l.failed.Add(1)
	l.first.CompareAndSwap(nil, &err)
}

func (l *load) firstError() error {
	if err := l.first.Load(); err != nil {
		return *err
	}
	return nil
}

// judge ends the load and fails the test unless every request was answered as it must.
func (l *load) judge(t *testing.T) {
	t.Helper()
	l.stop()
	failed, wrong, answered := l.failed.Load(), l.wrong.Load(), l.answered.Load()
	if failed+wrong > 0 || answered == 0 {
		t.Errorf("of the requests to %s %d failed, %d went wrong and %d were answered: %v", l.request.Host, failed, wrong, answered, l.firstError())
	}
}
