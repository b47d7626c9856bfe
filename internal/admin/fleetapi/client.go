package fleetapi

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// Start is the command that starts what this API is of.
const Start = "gatehouse fleet --config DIR"

// List asks for all Proxies of a fleet.
func List(ctx context.Context, c admin.Client) (explain.List, error) {
	c.Start = Start
	return admin.Ask[explain.List](ctx, c, "/v1/fleet")
}

// Why asks for the verdict of one Proxy, "namespace/name". A name alone is that of the
// Proxy in namespace default, or else of the only one that is called so. The error is
// an [admin.AbsentError] when it was never seen.
func Why(ctx context.Context, c admin.Client, name string) (explain.Answer, error) {
	c.Start = Start
	namespace, name, whole := strings.Cut(name, "/")
	if !whole {
		var err error
		if namespace, name, err = meant(ctx, c, namespace); err != nil {
			return explain.Answer{}, err
		}
	}
	return admin.Ask[explain.Answer](ctx, c, "/v1/fleet/"+url.PathEscape(namespace)+"/"+url.PathEscape(name))
}

// meant finds the namespace of a name alone.
func meant(ctx context.Context, c admin.Client, alone string) (namespace, name string, err error) {
	list, err := List(ctx, c)
	if err != nil {
		return "", "", err
	}
	var of []string
	for _, r := range list.Items {
		if r.Name == alone {
			of = append(of, r.Namespace)
		}
	}
	if len(of) == 1 {
		return of[0], alone, nil
	}
	if len(of) == 0 || slices.Contains(of, "default") {
		return "default", alone, nil
	}
	return "", "", fmt.Errorf("namespaces %s each have a Proxy %s: name one, as NAMESPACE/%s", strings.Join(of, ", "), alone, alone)
}
