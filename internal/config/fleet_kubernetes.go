package config

import "time"

// FleetKubernetes is how the cluster with the Proxies is reached.
type FleetKubernetes struct {
	// Kubeconfig is a path; empty for the ServiceAccount of the pod. Context is one of it;
	// empty for its current one.
	Kubeconfig, Context string
	// Namespace is where this process runs, and where its lease for leadership is.
	Namespace string
	// PodIP is the address of the pod, from the environment only; empty outside of one.
	PodIP string
	// Namespaces are those whose Proxies count; none are all.
	Namespaces []string
	// LeaseDuration is how long the process that leads may be silent before another one
	// takes over.
	LeaseDuration time.Duration
}

// Bounds of a lease's duration: the API server writes it in seconds.
const (
	minLease = 3 * time.Second
	maxLease = 10 * time.Minute
)

func fleetKubernetesTable(f *Fleet) []*setting {
	k := &f.Kubernetes
	return []*setting{
		{Setting{
			Key: "kubeconfig", Value: "FILE",
			Usage: "how the cluster with the Proxies is reached; by default the ServiceAccount of the pod",
		}, func(v []string) error { return setText(&k.Kubeconfig, v) }, false},
		{Setting{
			Key: "kubeContext", Value: "NAME",
			Usage: "context of the kubeconfig; by default its current one",
		}, func(v []string) error { return setText(&k.Context, v) }, false},
		{Setting{
			Key: "namespace", Value: "NAME",
			Usage: "namespace that this runs in; by default POD_NAMESPACE, else that of the pod's ServiceAccount, else default",
		}, func(v []string) error { return setNamespace(&k.Namespace, v) }, false},
		{Setting{
			Key: "watchNamespaces", Value: "NAME,...",
			Usage: "namespaces whose Proxies count; by default all",
		}, func(v []string) error { return setNamespaces(&k.Namespaces, v) }, false},
		{Setting{
			Key: "leaseDuration", Value: "DURATION", Default: "15s",
			Usage: "how long the process that leads may be silent before another one takes over",
		}, func(v []string) error { return setSpan(&k.LeaseDuration, v, minLease, maxLease) }, false},
	}
}

// ownNamespace is the one that this process runs in.
func (c *fleetCheck) ownNamespace() string {
	name, err := podNamespace(c.env)
	if err != nil {
		c.errs = append(c.errs, err)
	}
	return name
}
