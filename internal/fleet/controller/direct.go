package controller

import "sigs.k8s.io/controller-runtime/pkg/client"

// Direct returns objects without a cache and without a Lease, for who is alone and looks
// seldom.
func Direct(c client.Client) Objects {
	return &objects{cached: c, live: c, namespaces: namespaces(nil), fence: func() error { return nil }}
}
