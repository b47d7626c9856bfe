package podrunner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// life is that of one pod.
type life struct {
	*Runner
	pod     *core_v1.Pod
	leave   chan struct{} // closed when the pod is to end
	end     sync.Once
	running atomic.Bool

	address string
	cmd     *exec.Cmd
	ended   chan struct{}
	log     rig.Output
}

// live takes a pod from its node to its end.
func (l *life) live(ctx context.Context) {
	if !l.scheduled(ctx) {
		return
	}
	if err := l.begin(ctx); err != nil {
		l.tb.Errorf("pod %s/%s: %v", l.pod.Namespace, l.pod.Name, err)
		l.report(ctx, l.cannotBegin(err))
		return
	}
	defer l.kill()
	if l.serves(ctx) {
		l.report(ctx, l.runs())
	}
	select {
	case <-l.ended:
		l.report(ctx, l.crashed())
		select {
		case <-l.leave:
		case <-ctx.Done():
		}
	case <-l.leave:
		l.stop()
	case <-ctx.Done():
		return
	}
	if ctx.Err() == nil {
		l.gone(ctx)
	}
}

// scheduled puts the pod on the node, if its zone has room. A pod on no node ends at
// once when it is deleted.
func (l *life) scheduled(ctx context.Context) bool {
	if zone := l.pod.Spec.NodeSelector[core_v1.LabelTopologyZone]; l.Zones != nil && !slices.Contains(l.Zones, zone) {
		l.report(ctx, noRoom())
		return false
	}
	if l.pod.Spec.NodeName == cluster.Node {
		return true
	}
	target := &core_v1.Binding{Name: l.pod.Name, UID: l.pod.UID, Target: core_v1.ObjectReference{Kind: "Node", Name: cluster.Node}}
	err := l.Cluster.Client().CoreV1().Pods(l.pod.Namespace).Bind(ctx, target, meta_v1.CreateOptions{})
	return err == nil // it has gone otherwise
}

// begin starts the program, if there is one.
func (l *life) begin(ctx context.Context) error {
	l.address, l.ended = address(), make(chan struct{})
	if l.Program == "" {
		l.running.Store(true)
		return nil
	}
	cmd, err := l.command(ctx)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = &l.log, &l.log
	if err := l.Cluster.Inside(cmd.Start); err != nil {
		return err
	}
	l.cmd = cmd
	l.running.Store(true)
	l.lives.Go(func() {
		defer close(l.ended)
		_ = cmd.Wait()
		l.running.Store(false)
		_ = os.RemoveAll(cmd.SysProcAttr.Chroot)
	})
	return nil
}

// serves waits until the program accepts connections, as a startup probe does.
func (l *life) serves(ctx context.Context) bool {
	for l.held.Load() || !l.accepts(ctx) {
		select {
		case <-l.ended:
			return false
		case <-l.leave:
			return false
		case <-ctx.Done():
			return false
		case <-time.After(tick):
		}
	}
	return true
}

func (l *life) accepts(ctx context.Context) bool {
	if l.cmd == nil {
		return true
	}
	conn, err := l.Cluster.Dial(ctx, "tcp", fmt.Sprintf("%s:%d", l.address, l.pod.Spec.Containers[0].Ports[0].ContainerPort))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

const tick = 20 * time.Millisecond

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(tick):
	}
}

// stop asks the program to end and gives it the pod's grace.
func (l *life) stop() {
	defer l.running.Store(false)
	if l.cmd == nil {
		return
	}
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-l.ended:
	case <-time.After(time.Duration(*l.pod.Spec.TerminationGracePeriodSeconds) * time.Second):
		l.kill()
	}
}

func (l *life) kill() {
	if l.cmd != nil {
		_ = l.cmd.Process.Kill()
		<-l.ended
	}
}

// gone takes the pod from the API server.
func (l *life) gone(ctx context.Context) {
	options := meta_v1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &meta_v1.Preconditions{UID: &l.pod.UID}}
	_ = l.Cluster.Client().CoreV1().Pods(l.pod.Namespace).Delete(ctx, l.pod.Name, options)
}
