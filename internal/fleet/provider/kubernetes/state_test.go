package kubernetes

import (
	"net/netip"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

func status1(phase core_v1.PodPhase, ip string, state core_v1.ContainerState, started bool) core_v1.PodStatus {
	return core_v1.PodStatus{Phase: phase, PodIP: ip, ContainerStatuses: []core_v1.ContainerStatus{
		{Name: "sidecar", State: core_v1.ContainerState{Running: &core_v1.ContainerStateRunning{}}, Started: new(true)},
		{Name: containerName, Image: "a/b:c", State: state, Started: &started},
	}}
}

func waits(reason, message string) core_v1.ContainerState {
	return core_v1.ContainerState{Waiting: &core_v1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// TestState reads every status that a kubelet, a scheduler or a controller writes.
func TestState(t *testing.T) {
	const ip = "10.1.2.3"
	runs := core_v1.ContainerState{Running: &core_v1.ContainerStateRunning{}}
	crashed := status1(core_v1.PodRunning, ip, waits("CrashLoopBackOff", "back-off 40s"), false)
	crashed.ContainerStatuses[1].LastTerminationState.Terminated = &core_v1.ContainerStateTerminated{ExitCode: 2}
	for name, c := range map[string]struct {
		status core_v1.PodStatus
		want   provider.State
		detail string
	}{
		"new": {core_v1.PodStatus{}, provider.Provisioning, ""},
		"unschedulable": {core_v1.PodStatus{Phase: core_v1.PodPending, Conditions: []core_v1.PodCondition{
			{Type: core_v1.PodScheduled, Status: core_v1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available:\n1 Insufficient cpu."},
		}}, provider.Provisioning, "no node takes the pod: Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."},
		"pulling":      {status1(core_v1.PodPending, "", waits("ContainerCreating", ""), false), provider.Provisioning, ""},
		"pull error":   {status1(core_v1.PodPending, "", waits("ErrImagePull", "401"), false), provider.Provisioning, `the image "a/b:c" cannot be had: see the events of pod crawl/px-1`},
		"pull waits":   {status1(core_v1.PodPending, "", waits("ImagePullBackOff", "10s"), false), provider.Provisioning, `the image "a/b:c" cannot be had: see the events of pod crawl/px-1`},
		"no secret":    {status1(core_v1.PodPending, "", waits("CreateContainerConfigError", `secret "px" not found`), false), provider.Provisioning, `the container cannot be made: CreateContainerConfigError: secret "px" not found`},
		"no address":   {status1(core_v1.PodRunning, "", runs, true), provider.Provisioning, ""},
		"starts":       {status1(core_v1.PodRunning, ip, runs, false), provider.Provisioning, ""},
		"serves":       {status1(core_v1.PodRunning, ip, runs, true), provider.Running, ""},
		"crash loop":   {crashed, provider.Provisioning, "the proxy ends again and again, with code 2: see kubectl logs -n crawl px-1"},
		"lost":         {status1(core_v1.PodUnknown, ip, runs, true), provider.Provisioning, ""},
		"ended":        {core_v1.PodStatus{Phase: core_v1.PodSucceeded}, provider.Stopped, "the pod's proxy ended"},
		"evicted":      {core_v1.PodStatus{Phase: core_v1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}, provider.Stopped, "the pod failed: Evicted: The node was low on resource: memory."},
		"not admitted": {core_v1.PodStatus{Phase: core_v1.PodFailed, Reason: "OutOfcpu"}, provider.Stopped, "the pod failed: OutOfcpu"},
	} {
		pod := &core_v1.Pod{Namespace: "crawl", Name: "px-1", Status: c.status}
		got := instance(pod)
		if got.State != c.want || got.Detail != c.detail {
			t.Errorf("%s: state %d, %q; want %d, %q", name, got.State, got.Detail, c.want, c.detail)
		}
		if want := c.want == provider.Running; (got.IP == netip.MustParseAddr(ip)) != want || got.IP.IsValid() != want {
			t.Errorf("%s: address %s", name, got.IP)
		}
		pod.DeletionTimestamp = &meta_v1.Time{Time: time.Unix(1, 0)}
		if got := instance(pod); got.State != provider.Terminating || got.IP.IsValid() {
			t.Errorf("%s, deleted: state %d, address %s; want Terminating, none", name, got.State, got.IP)
		}
	}
}
