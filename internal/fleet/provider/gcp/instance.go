package gcp

import (
	"net/netip"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// seen is what the fleet needs to know of an instance in a project.
func seen(project string, it *computepb.Instance) provider.Instance {
	out := provider.Instance{
		ID:      location{project, last(it.GetZone()), it.GetName()}.String(),
		Name:    it.GetName(),
		Cluster: it.GetLabels()[egress_v1alpha1.ClusterLabel],
		UID:     it.GetLabels()[egress_v1alpha1.UIDLabel],
		Hash:    it.GetLabels()[egress_v1alpha1.HashLabel],
	}
	out.CreatedAt, _ = time.Parse(time.RFC3339, it.GetCreationTimestamp())
	out.State = state(it.GetStatus())
	ip, missing := address(it.GetNetworkInterfaces())
	switch {
	case out.State == provider.Running && missing != "":
		out.State, out.Detail = provider.Provisioning, missing
	case out.State == provider.Running:
		out.IP = ip
	case it.GetStatusMessage() != "":
		out.Detail = oneLine(it.GetStatusMessage())
	case out.State == provider.Stopped:
		out.Detail = "the instance is " + it.GetStatus()
	}
	return out
}

// last is the last part of a path or URL.
func last(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// state reads the life cycle of an instance. STOPPING is said of one that is deleted as
// of one that shuts down. A word that is not known deletes nothing: the instance counts
// as not yet running.
func state(status string) provider.State {
	switch status {
	case "RUNNING":
		return provider.Running
	case "STOPPING", "DEPROVISIONING":
		return provider.Terminating
	case "STOPPED", "TERMINATED", "PENDING_STOP", "SUSPENDING", "SUSPENDED":
		return provider.Stopped
	default: // PENDING, PROVISIONING, STAGING, REPAIRING
		return provider.Provisioning
	}
}

// address is where clients connect: the external address where one was asked for, and
// the internal one else. missing says which is not there yet.
func address(interfaces []*computepb.NetworkInterface) (ip netip.Addr, missing string) {
	if len(interfaces) == 0 {
		return netip.Addr{}, "no address yet"
	}
	first := interfaces[0] // the proxy listens on all
	text, missing := first.GetNetworkIP(), "no address yet"
	if access := first.GetAccessConfigs(); len(access) > 0 {
		text, missing = access[0].GetNatIP(), "no external address yet"
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, missing
	}
	return ip, ""
}
