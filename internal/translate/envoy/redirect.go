package envoy

import (
	"strconv"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

var redirectStatus = map[uint32]envoy_route_v3.RedirectAction_RedirectResponseCode{
	301: envoy_route_v3.RedirectAction_MOVED_PERMANENTLY,
	302: envoy_route_v3.RedirectAction_FOUND,
	303: envoy_route_v3.RedirectAction_SEE_OTHER,
	307: envoy_route_v3.RedirectAction_TEMPORARY_REDIRECT,
	308: envoy_route_v3.RedirectAction_PERMANENT_REDIRECT,
}

// translateRedirect makes the Location of a redirect. The query stays.
func translateRedirect(domain string, match model.PathMatch, r model.Redirect) (*envoy_route_v3.RedirectAction, error) {
	status, ok := redirectStatus[r.Status]
	if !ok {
		return nil, faultf("status", strconv.FormatUint(uint64(r.Status), 10), "not a redirect: use 301, 302, 303, 307 or 308")
	}
	out := &envoy_route_v3.RedirectAction{ResponseCode: status, PortRedirect: uint32(r.Port)}
	if err := redirectScheme(out, r.Scheme); err != nil {
		return nil, err
	}
	if err := redirectHost(out, domain, r); err != nil {
		return nil, err
	}
	if r.Path == nil {
		return out, nil
	}
	change, err := editPath(match, *r.Path)
	if err != nil {
		return nil, within("path", err)
	}
	redirectPath(out, change)
	return out, nil
}

func redirectScheme(out *envoy_route_v3.RedirectAction, scheme string) error {
	switch scheme {
	case "":
	case "http", "https":
		out.SchemeRewriteSpecifier = &envoy_route_v3.RedirectAction_SchemeRedirect{SchemeRedirect: scheme}
	default:
		return faultf("scheme", scheme, "unknown scheme: use http or https")
	}
	return nil
}

func redirectHost(out *envoy_route_v3.RedirectAction, domain string, r model.Redirect) error {
	if r.Hostname != "" {
		out.HostRedirect = r.Hostname
		return checkHostname("hostname", r.Hostname, false)
	}
	if bringsPort(r) && !isWildcard(domain) {
		out.HostRedirect = domain
	}
	return nil
}

// bringsPort tells that the request's own host, with a port that belongs to the
// scheme left behind, would become the target: http://a:8080 must lead to
// https://a and not to https://a:8080.
func bringsPort(r model.Redirect) bool { return r.Scheme != "" && r.Hostname == "" && r.Port == 0 }

// dropPort takes the port out of a Location whose host is known only when the
// request comes.
func dropPort() headerEdits {
	return headerEdits{responseAdd: []*envoy_core_v3.HeaderValueOption{{
		Header: &envoy_core_v3.HeaderValue{
			Key:   "location",
			Value: `%CEL(re.extract(response.headers["location"], "^(https?://[^/]*?)(:[0-9]+)?(/.*)$", "\\1\\3"))%`,
		},
		AppendAction: envoy_core_v3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}}}
}

func redirectPath(out *envoy_route_v3.RedirectAction, change pathChange) {
	switch {
	case change.Full != "":
		out.PathRewriteSpecifier = &envoy_route_v3.RedirectAction_PathRedirect{PathRedirect: change.Full}
	case change.Prefix != "":
		out.PathRewriteSpecifier = &envoy_route_v3.RedirectAction_PrefixRewrite{PrefixRewrite: change.Prefix}
	case change.Regex != nil:
		out.PathRewriteSpecifier = &envoy_route_v3.RedirectAction_RegexRewrite{RegexRewrite: change.Regex}
	}
}
