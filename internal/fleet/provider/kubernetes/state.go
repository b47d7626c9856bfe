package kubernetes

import (
	"fmt"
	"net/netip"
	"strings"

	core_v1 "k8s.io/api/core/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// instance is what a pod is to the fleet.
func instance(pod *core_v1.Pod) provider.Instance {
	i := provider.Instance{
		ID: idOf(pod), Name: pod.Name,
		Cluster: pod.Labels[egress_v1alpha1.ClusterLabel], UID: pod.Labels[egress_v1alpha1.UIDLabel], Hash: pod.Labels[egress_v1alpha1.HashLabel],
		CreatedAt: pod.CreationTimestamp.Time, Detail: detail(pod),
	}
	i.State, i.IP = state(pod)
	return i
}

// state reads the status that a kubelet wrote. What has ended stays so: its restart
// policy would have restarted what can be. Evicted pods have failed. A proxy that began
// to serve is Running, whatever a single probe says afterwards: that is a question of
// health, and none of provisioning.
func state(pod *core_v1.Pod) (provider.State, netip.Addr) {
	ip, err := netip.ParseAddr(pod.Status.PodIP)
	switch {
	case pod.DeletionTimestamp != nil:
		return provider.Terminating, netip.Addr{}
	case pod.Status.Phase == core_v1.PodFailed, pod.Status.Phase == core_v1.PodSucceeded:
		return provider.Stopped, netip.Addr{}
	case pod.Status.Phase == core_v1.PodRunning && err == nil && serves(pod):
		return provider.Running, ip
	default: // Pending, Unknown, or not serving yet
		return provider.Provisioning, netip.Addr{}
	}
}

// serves tells whether the proxy's container runs and has passed its startup probe.
func serves(pod *core_v1.Pod) bool {
	c := status(pod)
	return c != nil && c.State.Running != nil && c.Started != nil && *c.Started
}

func status(pod *core_v1.Pod) *core_v1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == containerName {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// detail says why a pod does not serve, in words that stay the same while it is so:
// what kubelets say changes with every attempt.
func detail(pod *core_v1.Pod) string {
	switch {
	case pod.Status.Phase == core_v1.PodFailed:
		return join("the pod failed", pod.Status.Reason, pod.Status.Message)
	case pod.Status.Phase == core_v1.PodSucceeded:
		return "the pod's proxy ended"
	case serves(pod):
		return ""
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == core_v1.PodScheduled && c.Status == core_v1.ConditionFalse {
			return join("no node takes the pod", c.Reason, c.Message)
		}
	}
	return waiting(pod)
}

// waiting says what the container waits for.
func waiting(pod *core_v1.Pod) string {
	c := status(pod)
	if c == nil || c.State.Waiting == nil {
		return ""
	}
	switch reason := c.State.Waiting.Reason; reason {
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError", "ErrImageNeverPull", "InvalidImageName":
		return fmt.Sprintf("the image %q cannot be had: see the events of pod %s/%s", c.Image, pod.Namespace, pod.Name)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return join("the container cannot be made", reason, c.State.Waiting.Message)
	case "CrashLoopBackOff":
		return crashed(pod, c)
	default: // PodInitializing, ContainerCreating
		return ""
	}
}

func crashed(pod *core_v1.Pod, c *core_v1.ContainerStatus) string {
	code := "an unknown code"
	if last := c.LastTerminationState.Terminated; last != nil {
		code = fmt.Sprintf("code %d", last.ExitCode)
	}
	return fmt.Sprintf("the proxy ends again and again, with %s: see kubectl logs -n %s %s", code, pod.Namespace, pod.Name)
}

// join makes one line of what is not empty.
func join(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, ": ")
}
