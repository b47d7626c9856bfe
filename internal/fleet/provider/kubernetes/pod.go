package kubernetes

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Template is what all pods have in common.
type Template struct {
	// Image is that of Proxies that name none; empty refuses those. Its entrypoint is
	// gatehouse-forward, and it needs no user of its own.
	Image string
	// Resources of the container; empty for [DefaultResources].
	Resources core_v1.ResourceRequirements
	// AllowSources are networks whose clients need no credentials, AllowDestinations those
	// that proxies connect to although they would refuse.
	AllowSources, AllowDestinations []netip.Prefix
}

// Names in a pod.
const (
	containerName = "proxy"
	authVolume    = "auth"
	authDir       = "/etc/gatehouse-forward/auth"
	portName      = "proxy"
)

// ProxyAnnotation of a pod is NAMESPACE/NAME of its Proxy.
const ProxyAnnotation = egress_v1alpha1.Group + "/proxy"

// user is "nonroot" of common base images; it owns nothing.
const user = 65532

// graceSeconds is longer than gatehouse-forward drains.
const graceSeconds = 45

// DefaultResources are enough for some hundred tunnels at once.
func DefaultResources() core_v1.ResourceRequirements {
	return core_v1.ResourceRequirements{
		Requests: core_v1.ResourceList{core_v1.ResourceCPU: resource.MustParse("50m"), core_v1.ResourceMemory: resource.MustParse("64Mi")},
		Limits:   core_v1.ResourceList{core_v1.ResourceMemory: resource.MustParse("256Mi")},
	}
}

// buildPod is the pod of a request. It is pure, and no credential is in it: the Secret
// is mounted. It meets the restricted Pod Security Standard.
func buildPod(t Template, r provider.CreateRequest) (*core_v1.Pod, error) {
	if r.Image == "" {
		r.Image = t.Image
	}
	if err := errors.Join(checkImage(r.Image), checkAuth(t, r)); err != nil {
		return nil, err
	}
	pod := &core_v1.Pod{
		Name: r.Name, Namespace: r.Namespace,
		Labels: map[string]string{
			egress_v1alpha1.ClusterLabel: r.Cluster, egress_v1alpha1.UIDLabel: r.UID, egress_v1alpha1.HashLabel: provider.LabelHash(r.Hash),
			"app.kubernetes.io/name": "gatehouse-forward", "app.kubernetes.io/managed-by": "gatehouse-fleet",
		},
		Annotations: map[string]string{ProxyAnnotation: r.Namespace + "/" + r.Proxy},
		Spec: core_v1.PodSpec{
			RestartPolicy:                 core_v1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(graceSeconds)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			SecurityContext:               podSecurity(r.Port),
			Containers:                    []core_v1.Container{container(t, r)},
		},
	}
	if r.Zone != "" {
		pod.Spec.NodeSelector = map[string]string{core_v1.LabelTopologyZone: r.Zone}
	}
	mountCredentials(pod, r.AuthSecret)
	return pod, nil
}

// checkImage refuses what no registry could have.
func checkImage(image string) error {
	switch {
	case image == "":
		return errors.New("spec.image is empty and there is no default: name an image whose entrypoint is gatehouse-forward, or give --pod-image")
	case strings.ContainsFunc(image, notImageRune) || strings.Contains(image, "//") || strings.Trim(image, "/:@") != image:
		return fmt.Errorf("spec.image %q is no name of an image: write it as registry.example/name:tag", image)
	}
	return nil
}

// checkAuth refuses what gatehouse-forward would end with, again and again.
func checkAuth(t Template, r provider.CreateRequest) error {
	switch {
	case r.Scheme == tlsScheme && r.AuthSecret == "":
		return fmt.Errorf("endpoint.scheme https needs %s and %s in the Secret of spec.auth", core_v1.TLSCertKey, core_v1.TLSPrivateKeyKey)
	case r.AuthSecret == "" && len(t.AllowSources) == 0:
		return errors.New("spec.auth is missing, and everybody in the cluster could use the proxy: name a Secret with credentials, or give --forward-allow-sources")
	}
	return nil
}

func notImageRune(c rune) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("-._/:@[]", c)
}

func container(t Template, r provider.CreateRequest) core_v1.Container {
	resources := t.Resources
	if resources.Requests == nil && resources.Limits == nil {
		resources = DefaultResources()
	}
	port := intstr.FromString(portName)
	return core_v1.Container{
		Name: containerName, Image: r.Image, Args: arguments(t, r), Resources: resources,
		Ports:          []core_v1.ContainerPort{{Name: portName, ContainerPort: int32(r.Port), Protocol: core_v1.ProtocolTCP}},
		StartupProbe:   probe(port, 1, 60),
		ReadinessProbe: probe(port, 5, 2),
		LivenessProbe:  probe(port, 10, 3),
		SecurityContext: &core_v1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
			Capabilities: &core_v1.Capabilities{Drop: []core_v1.Capability{"ALL"}},
		},
	}
}

// arguments are those of gatehouse-forward. Every address of the pod is listened at.
func arguments(t Template, r provider.CreateRequest) []string {
	args := []string{"--listen=:" + strconv.Itoa(r.Port), "--scheme=" + r.Scheme, "--instance=" + r.Name}
	if r.AuthSecret != "" {
		args = append(args, "--auth-dir="+authDir)
	}
	if r.Scheme == tlsScheme {
		args = append(args, "--tls-cert="+authDir+"/"+core_v1.TLSCertKey, "--tls-key="+authDir+"/"+core_v1.TLSPrivateKeyKey)
	}
	for _, p := range t.AllowSources {
		args = append(args, "--allow-sources="+p.String())
	}
	for _, p := range t.AllowDestinations {
		args = append(args, "--allow-destinations="+p.String())
	}
	return args
}

// tlsScheme is the scheme that needs a certificate.
const tlsScheme = string(egress_v1alpha1.HTTPS)

// probe asks for no more than that the proxy accepts connections: whether it reaches
// anything is for the probes through it. Seconds are between two.
func probe(port intstr.IntOrString, seconds, failures int32) *core_v1.Probe {
	return &core_v1.Probe{
		TCPSocket:     &core_v1.TCPSocketAction{Port: port},
		PeriodSeconds: seconds, TimeoutSeconds: 2, FailureThreshold: failures, SuccessThreshold: 1,
	}
}

// podSecurity lets a user without capabilities listen at ports below 1024 where one is
// asked for; the sysctl is the pod's own and counts as safe.
func podSecurity(port int) *core_v1.PodSecurityContext {
	c := &core_v1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(user)), RunAsGroup: new(int64(user)), FSGroup: new(int64(user)),
		SeccompProfile: &core_v1.SeccompProfile{Type: core_v1.SeccompProfileTypeRuntimeDefault},
	}
	if port < 1024 {
		c.Sysctls = []core_v1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}
	}
	return c
}

// mountCredentials lets the proxy's group, and nobody else in the pod, read the Secret.
func mountCredentials(pod *core_v1.Pod, secret string) {
	if secret == "" {
		return
	}
	pod.Spec.Volumes = []core_v1.Volume{{Name: authVolume, Secret: &core_v1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440))}}}
	pod.Spec.Containers[0].VolumeMounts = []core_v1.VolumeMount{{Name: authVolume, MountPath: authDir, ReadOnly: true}}
}
