package fleetapi

import (
	"context"
	"net/url"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Start is the command that starts what this API is of.
const Start = "gatehouse fleet --config DIR"

// List asks for all Proxies of a fleet.
func List(ctx context.Context, c admin.Client) (explain.List, error) {
	c.Start = Start
	return admin.Ask[explain.List](ctx, c, "/v1/fleet")
}

// Why asks for the verdict of one Proxy, "namespace/name". The error is an
// [admin.AbsentError] when it was never seen.
func Why(ctx context.Context, c admin.Client, name string) (verdict.Verdict, error) {
	c.Start = Start
	namespace, name, _ := strings.Cut(name, "/")
	return admin.Ask[verdict.Verdict](ctx, c, "/v1/fleet/"+url.PathEscape(namespace)+"/"+url.PathEscape(name))
}
