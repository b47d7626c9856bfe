// Package podrunner stands in for the kubelet of test/cluster's one node: it takes the
// pods of a fleet, gives each an address of [cluster.Machines], runs the program of its
// container there as its user, with its volumes and nothing else in sight, says in its
// status what became of it, and ends it when it is deleted.
//
// All pods share the cluster's network instead of having one each: the program is told
// to listen, and to leave, at the pod's address. Linux as root.
package podrunner

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// Options say which pods run, and what in them.
type Options struct {
	Cluster   *cluster.Cluster
	Namespace string // whose pods run
	// Program is a static gatehouse-forward; empty runs nothing, and pods only seem to.
	Program string
	// Arguments follow those of the pods, such as destinations that a test allows.
	Arguments []string
	// Zones are those that have room; nil is every zone.
	Zones []string
}

// Runner runs pods.
type Runner struct {
	Options
	tb    testing.TB
	lives sync.WaitGroup
	mu    sync.Mutex
	known map[types.UID]*life
	held  atomic.Bool
}

// Hold lets no more pods begin to serve until Resume.
func (r *Runner) Hold() { r.held.Store(true) }

// Resume lets them.
func (r *Runner) Resume() { r.held.Store(false) }

// Start runs pods until the test ends, and then ends all of them.
func Start(tb testing.TB, o Options) *Runner {
	tb.Helper()
	r := &Runner{Options: o, tb: tb, known: make(map[types.UID]*life)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	r.lives.Go(func() { r.run(ctx) })
	tb.Cleanup(func() {
		cancel()
		r.lives.Wait()
	})
	return r
}

// Running returns how many programs run now.
func (r *Runner) Running() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.known {
		if l.running.Load() {
			n++
		}
	}
	return n
}

// run lists and watches, over and over: an API server may end a watch at any time.
func (r *Runner) run(ctx context.Context) {
	pods := r.Cluster.Client().CoreV1().Pods(r.Namespace)
	for ctx.Err() == nil {
		options := meta_v1.ListOptions{LabelSelector: egress_v1alpha1.ClusterLabel}
		list, err := pods.List(ctx, options)
		if err != nil {
			pause(ctx)
			continue
		}
		for i := range list.Items {
			r.see(ctx, &list.Items[i])
		}
		options.ResourceVersion = list.ResourceVersion
		if w, err := pods.Watch(ctx, options); err == nil {
			r.follow(ctx, w)
		}
	}
}

func (r *Runner) follow(ctx context.Context, w watch.Interface) {
	defer w.Stop()
	for event := range w.ResultChan() {
		pod, ok := event.Object.(*core_v1.Pod)
		switch {
		case !ok:
			return
		case event.Type == watch.Deleted:
			r.forget(pod.UID)
		default:
			r.see(ctx, pod)
		}
	}
}

// see begins the life of a pod that is new, and the end of one that is being deleted.
func (r *Runner) see(ctx context.Context, pod *core_v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.known[pod.UID]
	if l == nil {
		l = &life{Runner: r, pod: pod, leave: make(chan struct{})}
		r.known[pod.UID] = l
		r.lives.Go(func() { l.live(ctx) })
	}
	if pod.DeletionTimestamp != nil {
		l.end.Do(func() { close(l.leave) })
	}
}

func (r *Runner) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.known[uid]; l != nil {
		l.end.Do(func() { close(l.leave) })
		delete(r.known, uid)
	}
}

// address is one that no other pod of this process has had lately.
func address() string {
	n := last.Add(1) % (100 * 250)
	return fmt.Sprintf("10.98.%d.%d", 100+n/250, 1+n%250)
}

var last atomic.Uint32
