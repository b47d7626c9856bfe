// Package kubeapi is what the two parts of the router that ask Kubernetes share: how its
// API is reached, and a clock for whoever waits to ask again.
package kubeapi

import (
	"fmt"
	"path/filepath"
	"runtime"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// Connection is how the API is reached.
type Connection struct {
	// Kubeconfig is a file, or several as $KUBECONFIG lists them; empty for the
	// ServiceAccount of the pod, or else the user's own file.
	Kubeconfig string
	// Context is one of the kubeconfig; empty for its current one.
	Context string
}

// Requests a second, and at once, that a client makes at most; watches are one.
const (
	requestRate  = 50
	requestBurst = 100
)

// Config returns the connection for clients. The error says what is missing.
func (c Connection) Config() (*rest.Config, error) {
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	config.UserAgent = fmt.Sprintf("gatehouse/%s (%s/%s)", version.Number, runtime.GOOS, runtime.GOARCH)
	config.QPS, config.Burst = requestRate, requestBurst
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

func (c Connection) load() (*rest.Config, error) {
	if c == (Connection{}) {
		if config, err := rest.InClusterConfig(); err == nil {
			return config, nil
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if c.Kubeconfig != "" {
		rules = &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(c.Kubeconfig)}
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("no cluster is known: there is neither a ServiceAccount of a pod nor a kubeconfig with a cluster; name one with KUBECONFIG")
	case err != nil:
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w; correct KUBECONFIG or KUBE_CONTEXT", err)
	}
	return config, nil
}
