package cluster

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig is the file for a client, with everything in it.
func kubeconfig(server string, ca []byte, user api.AuthInfo, namespace string) ([]byte, error) {
	const name = "gatehouse-test"
	c := api.NewConfig()
	c.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos[name] = &user
	c.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	c.CurrentContext = name
	return clientcmd.Write(*c)
}

// config reads a kubeconfig. Tests are not slowed down by limits of the client.
func config(file []byte) (*rest.Config, error) {
	c, err := clientcmd.RESTConfigFromKubeConfig(file)
	if err != nil {
		return nil, fmt.Errorf("read our own kubeconfig: %w", err)
	}
	c.QPS = -1
	return c, nil
}
