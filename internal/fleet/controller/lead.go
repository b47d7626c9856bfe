package controller

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination_v1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// ErrNotLeading refuses what only the leader may do.
var ErrNotLeading = errors.New("this process does not lead the fleet")

// leadership is what is known of the Lease.
type leadership struct {
	elector atomic.Pointer[leaderelection.LeaderElector] // nil while this process does not lead
}

// check returns nil while the Lease is surely ours. It does not rely on the elector's
// timers: a process that was stopped for a while finds out by its next step.
func (l *leadership) check() error {
	e := l.elector.Load()
	if e == nil || !e.IsLeader() || e.Check(0) != nil {
		return ErrNotLeading
	}
	return nil
}

// lock is the Lease.
func (c *Controller) lock() (resourcelock.Interface, error) {
	config := rest.CopyConfig(c.o.Config)
	config.QPS, config.Burst = -1, 0 // nothing else goes before it
	config.Timeout = c.renewDeadline() / 2
	client, err := coordination_v1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  meta_v1.ObjectMeta{Namespace: c.o.Namespace, Name: c.o.Lease},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + rand.Text() + "_" + c.o.Advertise},
	}, nil
}

// The leader stops before another one may start: it gives up after two thirds of the
// Lease's duration without a renewal.
func (c *Controller) renewDeadline() time.Duration { return c.o.LeaseDuration * 2 / 3 }

func (c *Controller) retryPeriod() time.Duration { return c.o.LeaseDuration * 2 / 15 }

// term stands for the Lease until ctx ends, and works while this process has it. It
// returns when the work has ended, because the Lease was lost or ctx has ended.
func (c *Controller) term(ctx context.Context, lock resourcelock.Interface, work func(context.Context)) error {
	elected := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: c.o.Lease,
		LeaseDuration: c.o.LeaseDuration, RenewDeadline: c.renewDeadline(), RetryPeriod: c.retryPeriod(),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { elected <- ctx },
			OnStoppedLeading: func() {},
			OnNewLeader:      func(id string) { c.newLeader(id, lock.Identity()) },
		},
	})
	if err != nil {
		return fmt.Errorf("stand for Lease %s: %w", lock.Describe(), err)
	}
	standing, leave := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logger(c.o.Log)))
	var stands sync.WaitGroup
	ended := make(chan struct{})
	stands.Go(func() { defer close(ended); elector.Run(standing) })
	defer func() { leave(); stands.Wait() }()
	select {
	case <-ctx.Done():
	case <-ended:
	case term := <-elected:
		c.lease.elector.Store(elector)
		working, stop := context.WithCancel(term)
		defer context.AfterFunc(ctx, stop)()
		work(working) //nolint:contextcheck // it is the elector's
		stop()
		c.lease.elector.Store(nil)
		leave()
		stands.Wait() // nothing renews it any more
		c.release(ctx, lock)
	}
	return nil
}

// Leader is where the process that leads is reached, as it advertises; empty when that is
// not known, or this one leads.
func (c *Controller) Leader() string {
	id := c.leader.Load()
	if id == nil || c.lease.check() == nil {
		return ""
	}
	return (*id)[strings.LastIndex(*id, "_")+1:]
}

func (c *Controller) newLeader(id, own string) {
	c.leader.Store(&id)
	if id != own && id != "" {
		c.o.Log.Info("another process leads; waiting", observe.KeyLeader, id)
	}
}

// release lets another process lead at once. The elector's own release would come before
// the work has ended, or keep the work going while the API does not answer.
func (c *Controller) release(ctx context.Context, lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.retryPeriod())
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != lock.Identity() {
		return // lost, or it ends by itself
	}
	now := meta_v1.Now()
	_ = lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}
