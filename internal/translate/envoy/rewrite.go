package envoy

import (
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// rewrite changes host and path on the way to the backend. The host that the
// client sent goes along in x-forwarded-host.
func rewrite(action *envoy_route_v3.RouteAction, match model.PathMatch, r *model.Rewrite) error {
	if r == nil {
		return nil
	}
	if r.Hostname != "" {
		if err := checkHostname("hostname", r.Hostname, false); err != nil {
			return err
		}
		action.HostRewriteSpecifier = &envoy_route_v3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: r.Hostname}
		action.AppendXForwardedHost = true
	}
	if r.Path == nil {
		return nil
	}
	change, err := editPath(match, *r.Path)
	if err != nil {
		return within("path", err)
	}
	action.PathRewrite = literal(change.Full)
	action.PrefixRewrite = change.Prefix
	action.RegexRewrite = change.Regex
	return nil
}
