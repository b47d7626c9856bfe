package cluster

import (
	"fmt"
	"os"
	"path/filepath"
)

// The programs of the control plane, and what they are built from. hack/build-cluster.sh
// builds them from the module in tools/cluster, and names its directory like this.
const (
	Version = "1.37.2" // of Kubernetes
	build   = "kubernetes-" + Version + "-etcd-3.7.0-go1.27.3-1"
)

const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
)

// AssetsVariable names a directory with the programs, instead of those that
// "make cluster" builds.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// Programs is the directory of etcd, kube-apiserver and kube-controller-manager:
// $KUBEBUILDER_ASSETS, else where "make cluster" puts them. The error says what is
// missing and what to do.
func Programs() (string, error) {
	dir, remedy := os.Getenv(AssetsVariable), "name a directory that has it, or unset $"+AssetsVariable+" and run \"make cluster\""
	if dir == "" {
		cache, err := CacheDir()
		if err != nil {
			return "", err
		}
		dir, remedy = filepath.Join(cache, build), "run \"make cluster\""
	}
	for _, name := range []string{etcd, apiServer, controllerManager} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&0o111 == 0 {
			return "", fmt.Errorf("no program %s in %s: %s", name, dir, remedy)
		}
	}
	return dir, nil
}

// CacheDir is where the programs are kept, and what "make cluster-up" knows of its cluster.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return filepath.Join(dir, "gatehouse", "cluster"), nil
}
