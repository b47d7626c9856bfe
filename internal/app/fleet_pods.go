package app

import (
	"context"

	core_v1 "k8s.io/api/core/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/kubernetes"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
)

// kubernetesProvider makes pods in the cluster that has the Proxies.
func kubernetesProvider(_ context.Context, c config.Fleet, _ IO, cluster string) (provider.Provider, error) {
	connection, err := kubeapi.Connection{Kubeconfig: c.Kubernetes.Kubeconfig, Context: c.Kubernetes.Context}.Config()
	if err != nil {
		return nil, err
	}
	return kubernetes.New(kubernetes.Options{
		Config: connection, Cluster: cluster, Namespaces: c.Kubernetes.Namespaces,
		Template: kubernetes.Template{
			Image: c.Pods.Image, Resources: core_v1.ResourceRequirements{Requests: c.Pods.Requests, Limits: c.Pods.Limits},
			AllowSources: c.Pods.AllowSources, AllowDestinations: c.Pods.AllowDestinations,
		},
	})
}
