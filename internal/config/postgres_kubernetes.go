package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// DiscoveryMode says where servers are found.
type DiscoveryMode string

// Where servers may be found. DiscoveryNone is for commands that serve nothing.
const (
	DiscoveryNone       DiscoveryMode = ""
	DiscoveryStatic     DiscoveryMode = "static"
	DiscoveryKubernetes DiscoveryMode = "kubernetes"
)

// Kubernetes is how a cluster is reached, and what counts in it.
type Kubernetes struct {
	// Kubeconfig is a path, or several as $KUBECONFIG lists them; empty for the
	// ServiceAccount of the pod, or else the user's own file. Context is one of it; empty
	// for its current one.
	Kubeconfig, Context string
	// Namespace is where this process runs.
	Namespace string
	// Namespaces are those whose Services count; none are all.
	Namespaces []string
	// ClusterDomain ends the DNS names of Services, without dots around it.
	ClusterDomain string
	// AllowLocal serves endpoints on loopback, link-local and metadata addresses, and
	// Services of type ExternalName.
	AllowLocal bool
}

func kubernetesTable(p *postgresGiven) []*setting {
	k := &p.Kubernetes
	return []*setting{
		{Setting{
			Key: "discoveryMode", Value: "MODE", Offline: true,
			Usage: "where servers are found: static or kubernetes; by default static where static backends are named, else kubernetes where it runs in a cluster or a kubeconfig is named",
		}, func(v []string) error { return setDiscoveryMode(&p.Discovery, v) }, false},
		{Setting{
			Key: "kubeconfig", Value: "FILE", Offline: true,
			Usage: "how the cluster is reached; by default the ServiceAccount of the pod, else the user's own file",
		}, func(v []string) error { return setText(&k.Kubeconfig, v) }, false},
		{Setting{
			Key: "kubeContext", Value: "NAME", Offline: true,
			Usage: "context of the kubeconfig; by default its current one",
		}, func(v []string) error { return setText(&k.Context, v) }, false},
		{Setting{
			Key: "namespace", Value: "NAME",
			Usage: "namespace that this runs in; by default POD_NAMESPACE, else that of the pod's ServiceAccount, else default",
		}, func(v []string) error { return setNamespace(&k.Namespace, v) }, false},
		{Setting{
			Key: "discoveryNamespaces", Value: "NAME,...", Offline: true,
			Usage: "namespaces whose Services count; by default all",
		}, func(v []string) error { return setNamespaces(&k.Namespaces, v) }, false},
		{Setting{
			Key: "clusterDomain", Value: "DOMAIN", Default: "cluster.local", Offline: true,
			Usage: "what DNS names of Services end in",
		}, func(v []string) error { return setDomain(&k.ClusterDomain, v) }, false},
		{Setting{
			Key: "allowLocalEndpoints", Default: "false", Offline: true,
			Usage: "let Services lead to loopback, link-local and metadata addresses, and out of the cluster by ExternalName",
		}, func(v []string) error { return setSwitch(&k.AllowLocal, v) }, false},
	}
}

func setDiscoveryMode(to *DiscoveryMode, values []string) error {
	return synonym(to, values, map[string]DiscoveryMode{
		"static": DiscoveryStatic, "kubernetes": DiscoveryKubernetes, "k8s": DiscoveryKubernetes,
	}, "must be static or kubernetes")
}

const namespaceRule = "must be the name of a namespace: lower-case letters, digits and -"

func setNamespace(to *string, values []string) error {
	if len(values) == 0 {
		return nil
	}
	v, err := one(values)
	if err == nil && len(validation.IsDNS1123Label(v)) > 0 {
		err = errors.New(namespaceRule)
	}
	*to = v
	return err
}

func setNamespaces(to *[]string, values []string) error {
	for _, list := range values {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if len(validation.IsDNS1123Label(name)) > 0 {
				return errors.New("must be names of namespaces with commas between them: lower-case letters, digits and -")
			}
			if !slices.Contains(*to, name) {
				*to = append(*to, name)
			}
		}
	}
	return nil
}

// discovery finds out where servers are found, and what is missing for that.
func (c *postgresCheck) discovery() {
	k := &c.Kubernetes
	k.Namespace = c.ownNamespace()
	if c.Discovery == DiscoveryNone {
		c.Discovery = c.detectDiscovery()
	}
	switch {
	case c.Discovery == DiscoveryKubernetes:
		c.checkKubeconfig()
		if len(c.Backends) > 0 {
			c.warn("staticBackends", "has no effect: servers are found in Kubernetes, as DISCOVERY_MODE says")
		}
		return
	case c.src.Watch && c.Discovery == DiscoveryNone:
		c.fail("staticBackends", "", "is missing: name the servers, for example orders=127.0.0.1:5433, or the cluster to find them in, with --kubeconfig or $KUBECONFIG")
	case c.src.Watch && len(c.Backends) == 0:
		c.fail("staticBackends", "", "is missing: name the servers, for example orders=127.0.0.1:5433, or find them in a cluster with DISCOVERY_MODE=kubernetes")
	}
	unused := []string{"kubeconfig", "kubeContext", "discoveryNamespaces"}
	if c.secretMode() {
		c.checkKubeconfig()
		unused = unused[2:]
	}
	for _, key := range unused {
		if c.Discovery == DiscoveryStatic && c.isGiven(key) {
			c.warn(key, "has no effect: servers are those of STATIC_BACKENDS; DISCOVERY_MODE=kubernetes finds them in the cluster")
		}
	}
}

func (c *postgresCheck) detectDiscovery() DiscoveryMode {
	switch {
	case len(c.Backends) > 0:
		return DiscoveryStatic
	case c.Runtime == RuntimeKubernetes, c.Kubernetes.Kubeconfig != "", c.Kubernetes.Context != "":
		return DiscoveryKubernetes
	}
	return DiscoveryNone
}

// checkKubeconfig refuses one that is named and not there.
func (c *postgresCheck) checkKubeconfig() {
	paths := filepath.SplitList(c.Kubernetes.Kubeconfig)
	exists := func(path string) bool { return path != "" && onDisk(path) }
	if len(paths) > 0 && !slices.ContainsFunc(paths, exists) {
		c.fail("kubeconfig", c.Kubernetes.Kubeconfig, "does not exist; name the kubeconfig of the cluster")
	}
}

func (c *postgresCheck) isGiven(key string) bool {
	return slices.ContainsFunc(c.given, func(g Given) bool { return g.Key == key })
}

// accountNamespace is where Kubernetes tells a pod its namespace.
const accountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace is the one that this process runs in.
func (c *postgresCheck) ownNamespace() string {
	if c.Kubernetes.Namespace != "" {
		return c.Kubernetes.Namespace
	}
	name, err := podNamespace(environment(c.src.Environ))
	if err != nil {
		c.errs = append(c.errs, err)
	}
	return name
}

// podNamespace is the one of the pod that this process runs in, default without a pod.
// The error is an [Error] of a name that cannot be one, which is returned beside it.
func podNamespace(env map[string]string) (name string, err error) {
	if pod := env["POD_NAMESPACE"]; pod != "" {
		if len(validation.IsDNS1123Label(pod)) > 0 {
			err = &Error{From: "$POD_NAMESPACE", Value: pod, Problem: namespaceRule}
		}
		return pod, err
	}
	if text, err := os.ReadFile(accountNamespace); err == nil {
		if name := strings.TrimSpace(string(text)); name != "" {
			return name, nil
		}
	}
	return "default", nil
}
