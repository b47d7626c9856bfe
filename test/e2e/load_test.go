package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// load is a steady stream of requests to one host, to whatever backend.
type load struct {
	answered, failed, wrong atomic.Int64
	first                   atomic.Pointer[error]
	stop                    func()
}

// load starts some clients that each send one request after another until stop.
func (s *stage) load(t *testing.T, host string, clients int) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	l := new(load)
	for range clients {
		running.Go(func() { l.send(ctx, s.http, host) })
	}
	l.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(l.stop)
	return l
}

func (l *load) send(ctx context.Context, port uint16, host string) {
	r := rig.Request{Port: port, Host: host}
	client := rig.NewClient(r)
	defer client.Close()
	for ctx.Err() == nil {
		got, err := client.Do(ctx, r)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			l.fail(err)
		case got.Status != 200:
			l.fail(fmt.Errorf("%d %s", got.Status, got.Body))
		case got.Answer.Host != host:
			l.wrong.Add(1)
		default:
			l.answered.Add(1)
		}
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
