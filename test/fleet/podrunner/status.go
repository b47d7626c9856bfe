package podrunner

import (
	"context"
	"encoding/json"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// report writes a status. Where the pod has gone there is nobody to tell.
func (l *life) report(ctx context.Context, s core_v1.PodStatus) {
	patch, err := json.Marshal(map[string]any{"status": s})
	if err != nil {
		l.tb.Error(err)
		return
	}
	pods := l.Cluster.Client().CoreV1().Pods(l.pod.Namespace)
	_, _ = pods.Patch(ctx, l.pod.Name, types.StrategicMergePatchType, patch, meta_v1.PatchOptions{}, "status")
}

func noRoom() core_v1.PodStatus {
	return core_v1.PodStatus{Phase: core_v1.PodPending, Conditions: []core_v1.PodCondition{{
		Type: core_v1.PodScheduled, Status: core_v1.ConditionFalse, Reason: core_v1.PodReasonUnschedulable,
		Message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
	}}}
}

func (l *life) runs() core_v1.PodStatus {
	s := l.status(core_v1.ContainerState{Running: &core_v1.ContainerStateRunning{StartedAt: meta_v1.Now()}}, true)
	s.PodIP, s.PodIPs = l.address, []core_v1.PodIP{{IP: l.address}}
	return s
}

func (l *life) crashed() core_v1.PodStatus {
	s := l.status(core_v1.ContainerState{Waiting: &core_v1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off restarting failed container"}}, false)
	s.ContainerStatuses[0].LastTerminationState.Terminated = &core_v1.ContainerStateTerminated{
		ExitCode: int32(l.cmd.ProcessState.ExitCode()), Reason: "Error", Message: l.log.String(),
	}
	return s
}

func (l *life) cannotBegin(err error) core_v1.PodStatus {
	s := l.status(core_v1.ContainerState{Waiting: &core_v1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: err.Error()}}, false)
	s.Phase = core_v1.PodPending
	return s
}

func (l *life) status(state core_v1.ContainerState, up bool) core_v1.PodStatus {
	ready := core_v1.ConditionFalse
	if up {
		ready = core_v1.ConditionTrue
	}
	c := l.pod.Spec.Containers[0]
	return core_v1.PodStatus{
		Phase: core_v1.PodRunning, HostIP: "10.244.0.1",
		Conditions: []core_v1.PodCondition{
			{Type: core_v1.PodScheduled, Status: core_v1.ConditionTrue},
			{Type: core_v1.PodReady, Status: ready},
			{Type: core_v1.ContainersReady, Status: ready},
			{Type: core_v1.PodInitialized, Status: core_v1.ConditionTrue},
		},
		ContainerStatuses: []core_v1.ContainerStatus{{Name: c.Name, Image: c.Image, State: state, Ready: up, Started: &up}},
	}
}
