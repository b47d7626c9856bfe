package cluster

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Addresses of a cluster. None is known outside of it.
const (
	services  = "10.96.0.0/16" // ClusterIPs
	firstIP   = "10.96.0.1"    // that of the Service "kubernetes"
	pods      = "10.244.0.1/16"
	advertise = "10.244.0.1" // where pods find the API server
	// Machines are addresses for what is not in the cluster: each is local to its network.
	Machines = "10.98.0.0/16"
)

// Files of a cluster.
const (
	caFile          = "ca.crt"
	serverCert      = "apiserver.crt"
	serverKey       = "apiserver.key"
	accountsKey     = "service-accounts.key"
	controllersFile = "controllers.kubeconfig"
)

// controllers are those that work without nodes and without a cloud.
var controllers = []string{
	"clusterrole-aggregation-controller", "daemonset-controller", "deployment-controller", "disruption-controller",
	"endpointslice-controller", "endpointslice-mirroring-controller", "garbage-collector-controller",
	"horizontal-pod-autoscaler-controller", "job-controller", "namespace-controller", "pod-garbage-collector-controller",
	"replicaset-controller", "root-ca-certificate-publisher-controller", "serviceaccount-controller",
	"serviceaccount-token-controller", "statefulset-controller", "validatingadmissionpolicy-status-controller",
}

// arguments are those of each program, with its files in dir.
func (w world) arguments(dir string) map[string][]string {
	const store, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	in := func(name string) string { return filepath.Join(dir, name) }
	return map[string][]string{
		// Nothing survives the processes, so nothing is flushed to the disk.
		etcd: {
			"--name=test", "--data-dir=" + in("etcd"), "--unsafe-no-fsync", "--log-level=error",
			"--listen-client-urls=" + store, "--advertise-client-urls=" + store,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=test=" + peer,
		},
		apiServer: {
			"--etcd-servers=" + store, "--bind-address=0.0.0.0", "--advertise-address=" + advertise, "--secure-port=" + strconv.Itoa(w.Port),
			"--service-cluster-ip-range=" + services, "--cert-dir=" + in("apiserver"),
			"--tls-cert-file=" + in(serverCert), "--tls-private-key-file=" + in(serverKey), "--client-ca-file=" + in(caFile),
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + in(accountsKey), "--service-account-signing-key-file=" + in(accountsKey),
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true", "--profiling=false",
		},
		// The administrator's rights and a high rate: tests wait for it.
		controllerManager: {
			"--kubeconfig=" + in(controllersFile), "--leader-elect=false", "--use-service-account-credentials=false",
			"--root-ca-file=" + in(caFile), "--service-account-private-key-file=" + in(accountsKey),
			"--bind-address=127.0.0.1", "--secure-port=10257", "--cert-dir=" + in("controllers"),
			"--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20",
			"--controllers=" + strings.Join(controllers, ","),
		},
	}
}

// server is the API server's URL, inside and outside.
func (w world) server() string { return fmt.Sprintf("https://127.0.0.1:%d", w.Port) }
