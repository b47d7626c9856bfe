// Package cluster runs a real Kubernetes control plane for tests: etcd, kube-apiserver
// and kube-controller-manager as processes in namespaces of their own, without
// containers. There is a [Node] but no kubelet: pods are accepted and never run, Services
// get an address that nothing routes, and EndpointSlices are what the controllers make of
// what tests write.
//
//	c := cluster.Shared(t)         // one for all tests of a test binary
//	ns := c.Namespace(t)           // a name that nobody else has
//	api := c.Client()              // as administrator
//	file := c.ServiceAccount(t, ns, "router", rules...) // a kubeconfig with these rights
//
// The API server answers at 127.0.0.1 of this machine, at a port of its own. [Start]
// starts a cluster that one test has for itself, to stop and start its API server.
// Everything of a cluster ends when the process that started it does, in whatever way,
// because the kernel ends what the first process of a namespace leaves; its files are in
// a file system of its own. Nothing of this machine's network, mounts or processes is
// touched, and any number of clusters can run at once.
//
// [Cluster.Inside] lets a test listen, dial and start processes in the cluster's own
// network, where every address of [Machines] is local: these are the servers that
// EndpointSlices name.
//
// Linux as root. "make cluster" builds the programs; see [Programs].
package cluster
