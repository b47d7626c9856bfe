package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

const (
	socketHost = "socket.example.com"
	callHost   = "call.example.com"
	callMethod = "/shop.Talk/Say"
)

// talks are a WebSocket and a gRPC call that stay open, and others that come and
// go: all must be answered by the right backend, with the mark of its filter.
type talks struct {
	port   uint16
	said   int
	faults []string
}

// kind is one kind of talk, and what its backend answers.
type kind struct {
	name string
	open func(context.Context) (*rig.Talk, error)
	want string
}

func (t *talks) kinds() []kind {
	return []kind{
		{"WebSocket", func(ctx context.Context) (*rig.Talk, error) { return rig.OpenSocket(ctx, t.port, socketHost, "/") }, "red socket"},
		{"gRPC call", func(ctx context.Context) (*rig.Talk, error) { return rig.OpenCall(ctx, t.port, callHost, callMethod) }, "caller " + callMethod + " call"},
	}
}

// run talks until ctx ends.
func (t *talks) run(ctx context.Context) {
	open, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	kinds := t.kinds()
	long := make([]*rig.Talk, len(kinds))
	for i, k := range kinds {
		talk, err := k.open(open)
		if err != nil {
			t.fault(k, "stays open", err)
			return
		}
		defer func() { _ = talk.Close() }()
		long[i] = talk
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for i, k := range kinds {
			t.say(k, "stays open", long[i])
			t.short(open, k)
		}
	}
}

// short opens a talk, says one thing and closes it.
func (t *talks) short(ctx context.Context, k kind) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	talk, err := k.open(ctx)
	if err != nil {
		t.fault(k, "is new", err)
		return
	}
	t.say(k, "is new", talk)
	if err := talk.Close(); err != nil {
		t.fault(k, "is new", err)
	}
}

func (t *talks) say(k kind, which string, talk *rig.Talk) {
	t.said++
	answer, err := talk.Say("hello")
	if err == nil && answer != k.want {
		err = errors.New("answers " + answer + ", want " + k.want)
	}
	if err != nil {
		t.fault(k, which, err)
	}
}

func (t *talks) fault(k kind, which string, err error) {
	t.faults = append(t.faults, fmt.Sprintf("%s %s that %s failed: %v", time.Now().Format("15:04:05.000"), k.name, which, err))
}
