package cluster

import (
	"context"
	"fmt"
	"time"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tick is how often something is asked for again.
const tick = 20 * time.Millisecond

// await asks until check returns nil or ctx ends.
func (c *Cluster) await(ctx context.Context, check func(context.Context) error) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// ready tells whether the API server is ready.
func (c *Cluster) ready(ctx context.Context) error {
	return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// Node is the name of the one node. It runs nothing, but a pod must be on a node to
// become an endpoint: tests give theirs this spec.nodeName, and write its status.
const Node = "node"

// works tells whether the API server is ready and the controllers do their work, and
// makes the node.
func (c *Cluster) works(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	if err := c.furnished(ctx, meta_v1.NamespaceDefault); err != nil {
		return err
	}
	node := &core_v1.Node{Name: Node}
	_, err := c.client.CoreV1().Nodes().Create(ctx, node, meta_v1.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// furnished tells whether a namespace has what the controllers put into each.
func (c *Cluster) furnished(ctx context.Context, namespace string) error {
	core := c.client.CoreV1()
	if _, err := core.ServiceAccounts(namespace).Get(ctx, "default", meta_v1.GetOptions{}); err != nil {
		return err
	}
	_, err := core.ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", meta_v1.GetOptions{})
	return err
}
