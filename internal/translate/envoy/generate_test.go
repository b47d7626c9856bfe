package envoy

import (
	"fmt"
	"net/netip"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// words are texts that are good in some place and bad in another.
var words = rapid.OneOf(
	rapid.SampledFrom([]string{
		"", "a", "shop/cart", "a.example", "*.example", "*", "A.Example", "-a.example", "a..b", "shop/edge/8080",
		"/", "//", "/a", "/a/", "/a/b%20c", "/a%zz", "/a?b", "/a b", "/ä", "a/b", "/a#b",
		"x-a", "X-A", "host", ":path", "content-length", "x a", "x_a", "GET", "get it",
		"100%", "%REQ(host)%", "v\r\nx: y", "\x00", "\xff", "ä", " v ",
		"(", ".*", "/(a|b)", "a{1001}", `\8`, "a{1000}", "(?i)a", "https", "ftp",
	}),
	rapid.StringN(0, 12, 40),
)

// name draws a good text most of the time, so that whole values are good often.
func name[T ~string](good ...T) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		if rapid.IntRange(0, 15).Draw(t, "luck") == 7 {
			return T(words.Draw(t, "word"))
		}
		return rapid.SampledFrom(good).Draw(t, "good")
	})
}

var (
	paths = rapid.Custom(func(t *rapid.T) model.PathMatch {
		return model.PathMatch{
			Kind:  rapid.SampledFrom([]model.PathKind{model.PathExact, model.PathPrefix, model.PathPrefix, model.PathPrefix, model.PathRegex, "Glob"}).Draw(t, "kind"),
			Value: name("/", "/a", "/a/b/", "/a.*").Draw(t, "path"),
		}
	})
	values = rapid.Custom(func(t *rapid.T) model.ValueMatch {
		return model.ValueMatch{Name: name("x-a", "q").Draw(t, "name"), Value: words.Draw(t, "value"), Regex: rapid.Bool().Draw(t, "regex")}
	})
	matches = rapid.Custom(func(t *rapid.T) model.Match {
		return model.Match{
			Path: paths.Draw(t, "path"), Method: name("", "GET").Draw(t, "method"),
			Headers: rapid.SliceOfN(values, 0, 2).Draw(t, "headers"), Query: rapid.SliceOfN(values, 0, 2).Draw(t, "query"),
		}
	})
	headers = rapid.Custom(func(t *rapid.T) model.Header {
		return model.Header{Name: name("x-a", "x-b").Draw(t, "name"), Value: words.Draw(t, "value")}
	})
	edits = rapid.Custom(func(t *rapid.T) model.HeaderEdit {
		return model.HeaderEdit{
			Set: rapid.SliceOfN(headers, 0, 2).Draw(t, "set"), Add: rapid.SliceOfN(headers, 0, 1).Draw(t, "add"),
			Remove: rapid.SliceOfN(name("x-a", "x-c"), 0, 2).Draw(t, "remove"),
		}
	})
	filters = rapid.OneOf(rapid.Just(model.Filters{}), rapid.Custom(func(t *rapid.T) model.Filters {
		f := model.Filters{Request: edits.Draw(t, "request"), Response: edits.Draw(t, "response"), Mirrors: rapid.SliceOfN(mirrors, 0, 2).Draw(t, "mirrors")}
		if rapid.IntRange(0, 3).Draw(t, "cors") == 0 {
			f.CORS = policies.Draw(t, "policy")
		}
		if rapid.IntRange(0, 3).Draw(t, "auth") == 0 {
			f.Auth = rapid.SliceOfN(auths, 0, 5).Draw(t, "services")
		}
		return f
	}))
	auths = rapid.Custom(func(t *rapid.T) model.Auth {
		return model.Auth{
			Cluster: name[model.ClusterID]("shop/a:80", "shop/b:80").Draw(t, "service"), GRPC: rapid.Bool().Draw(t, "grpc"), Path: name("", "/check").Draw(t, "path"),
			Ask: rapid.SliceOfN(name("x-a"), 0, 2).Draw(t, "ask"), Take: rapid.SliceOfN(name("x-b"), 0, 2).Draw(t, "take"), Body: rapid.SampledFrom([]uint32{0, 1, 1<<32 - 1}).Draw(t, "body"),
		}
	})
	mirrors = rapid.Custom(func(t *rapid.T) model.Mirror {
		return model.Mirror{
			Cluster:    name[model.ClusterID]("shop/a:80", "shop/b:80").Draw(t, "mirror"),
			Millionths: rapid.SampledFrom([]uint32{1, 333_333, 1_000_000, 1_000_000, 0, 1_000_001}).Draw(t, "millionths"),
		}
	})
	policies = rapid.Custom(func(t *rapid.T) *model.CORS {
		names := func(label string) []string { return rapid.SliceOfN(name("*", "x-a", "GET"), 0, 2).Draw(t, label) }
		return &model.CORS{
			Origins: rapid.SliceOfN(name("*", "https://a.example", "http://*.a.example:8080"), 0, 2).Draw(t, "origins"), Methods: names("methods"), Headers: names("headers"), Expose: names("expose"),
			Credentials: rapid.Bool().Draw(t, "credentials"), MaxAge: rapid.SampledFrom([]time.Duration{0, time.Second, 1 << 62}).Draw(t, "age"),
		}
	})
	retryPolicies = rapid.Custom(func(t *rapid.T) *model.Retry {
		return &model.Retry{
			Attempts: rapid.Uint32Range(0, 9).Draw(t, "attempts"), Codes: rapid.SliceOfN(rapid.Uint32Range(400, 599), 0, 2).Draw(t, "codes"),
			Backoff: rapid.SampledFrom([]time.Duration{0, time.Nanosecond, time.Second, -1, 1 << 62}).Draw(t, "backoff"),
		}
	})
	pathEdits = rapid.Custom(func(t *rapid.T) *model.PathEdit {
		return &model.PathEdit{Prefix: rapid.Bool().Draw(t, "prefix"), Value: name("", "/", "/x/", "/x").Draw(t, "value")}
	})
	sessions = rapid.Custom(func(t *rapid.T) *model.Session {
		return &model.Session{
			Header:   name("", "", "x-session").Draw(t, "header"),
			Cookie:   model.Cookie{Name: name("s", "s-1").Draw(t, "cookie"), Path: name("/", "/a").Draw(t, "path"), Permanent: rapid.Bool().Draw(t, "permanent"), Secure: rapid.Bool().Draw(t, "secure")},
			Lifetime: rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Hour, time.Nanosecond, -1, 1 << 62}).Draw(t, "lifetime"),
		}
	})
	weighted = rapid.Custom(func(t *rapid.T) model.WeightedBackend {
		return model.WeightedBackend{
			Cluster: name[model.ClusterID]("shop/a:80", "shop/b:80", "").Draw(t, "cluster"),
			Weight:  rapid.SampledFrom([]uint32{0, 1, 1, 99, 1_000_000, 1<<32 - 1_000_000}).Draw(t, "weight"), Filters: filters.Draw(t, "filters"),
			Rewrite: rapid.OneOf(rapid.Just[*model.Rewrite](nil), rapid.Just[*model.Rewrite](nil), rewrites).Draw(t, "rewrite"), Redirect: rapid.OneOf(rapid.Just[*model.Redirect](nil), rapid.Just[*model.Redirect](nil), redirects).Draw(t, "redirect"),
			Session: rapid.OneOf(rapid.Just[*model.Session](nil), rapid.Just[*model.Session](nil), sessions).Draw(t, "session"),
		}
	})
	forwards = rapid.Custom(func(t *rapid.T) *model.Forward {
		return &model.Forward{
			Backends: rapid.SliceOfN(weighted, 0, 3).Draw(t, "backends"),
			Timeout:  rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, time.Nanosecond, -1, 1 << 62}).Draw(t, "timeout"),

			TryTimeout: rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, -1}).Draw(t, "try"),
			Retry:      rapid.OneOf(rapid.Just[*model.Retry](nil), retryPolicies).Draw(t, "retry"),
		}
	})
	redirects = rapid.Custom(func(t *rapid.T) *model.Redirect {
		return &model.Redirect{
			Scheme: name("", "http", "https").Draw(t, "scheme"), Hostname: name("", "b.example").Draw(t, "hostname"),
			Port: rapid.Uint16().Draw(t, "port"), Path: rapid.OneOf(rapid.Just[*model.PathEdit](nil), pathEdits).Draw(t, "path"),
			Status: rapid.SampledFrom([]uint32{301, 302, 303, 307, 308, 301, 302, 200}).Draw(t, "status"),
		}
	})
	rewrites = rapid.Custom(func(t *rapid.T) *model.Rewrite {
		return &model.Rewrite{Hostname: name("", "c.example").Draw(t, "hostname"), Path: rapid.OneOf(rapid.Just[*model.PathEdit](nil), pathEdits).Draw(t, "path")}
	})
	refs = rapid.Custom(func(t *rapid.T) []model.Ref {
		return []model.Ref{{Collection: "HTTPRoute", Name: fmt.Sprintf("shop/r%d", rapid.IntRange(0, 9).Draw(t, "ref"))}}
	})
	routes = rapid.Custom(func(t *rapid.T) model.Route {
		r := model.Route{Name: name("shop/r-1", "shop/r-2").Draw(t, "name"), Match: matches.Draw(t, "match"), Filters: filters.Draw(t, "filters"), Origins: refs.Draw(t, "refs")}
		switch rapid.IntRange(0, 5).Draw(t, "action") {
		case 0:
			r.Redirect = redirects.Draw(t, "redirect")
		case 1:
			r.Status = rapid.SampledFrom([]uint32{0, 200, 404, 500, 600, 99}).Draw(t, "status")
		default:
			r.Forward = forwards.Draw(t, "forward")
			r.Rewrite = rapid.OneOf(rapid.Just[*model.Rewrite](nil), rewrites).Draw(t, "rewrite")
		}
		return r
	})
	virtualHosts = rapid.Custom(func(t *rapid.T) model.VirtualHost {
		return model.VirtualHost{
			Closed: rapid.IntRange(0, 9).Draw(t, "closed") == 0, Admit: rapid.OneOf(rapid.Just[[]model.Auth](nil), rapid.SliceOfN(auths, 0, 3)).Draw(t, "admit"),
			Domain: name("*", "a.example", "*.example", "b.example").Draw(t, "domain"), Misdirected: rapid.IntRange(0, 9).Draw(t, "misdirected") == 0,
			Routes: rapid.SliceOfN(routes, 0, 4).Draw(t, "routes"), Origins: refs.Draw(t, "refs"),
		}
	})
)

var (
	tableNames = name[model.TableID]("shop/edge/8080", "shop/edge/8443/a", "shop/edge/8443/b")
	tables     = rapid.Custom(func(t *rapid.T) table {
		return table{
			model.RouteTable{ID: tableNames.Draw(t, "table"), Gateway: edge, Scoped: rapid.Bool().Draw(t, "scoped"), Both: rapid.Bool().Draw(t, "both")},
			rapid.SliceOfN(virtualHosts, 0, 3).Draw(t, "hosts"),
		}
	})
	checks = rapid.Custom(func(t *rapid.T) *model.ClientCheck {
		return &model.ClientCheck{CA: goodPair().Cert, Optional: rapid.Bool().Draw(t, "optional")}
	})
	chains = rapid.Custom(func(t *rapid.T) model.Chain {
		return model.Chain{
			Clients: rapid.OneOf(rapid.Just[*model.ClientCheck](nil), checks).Draw(t, "clients"), Admits: rapid.IntRange(0, 2).Draw(t, "admits"),
			Name: name("a", "b").Draw(t, "name"), Hostname: name("", "a.example", "*.example").Draw(t, "hostname"),
			Certificates: rapid.SliceOfN(name[model.CertificateID]("shop/tls", "shop/tls2"), 0, 2).Draw(t, "certificates"), Table: rapid.OneOf(rapid.Just(model.TableID("")), tableNames).Draw(t, "table"),
			Stream: rapid.OneOf(rapid.Just[*model.Forward](nil), forwards).Draw(t, "stream"),
		}
	})
	listeners = rapid.Custom(func(t *rapid.T) model.Listener {
		return model.Listener{
			Gateway:  edge,
			Address:  rapid.SampledFrom([]netip.Addr{{}, netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("::"), netip.MustParseAddr("fe80::1%eth0")}).Draw(t, "address"),
			Port:     rapid.SampledFrom([]uint16{1, 8080, 8443, 65535, 80, 0}).Draw(t, "port"),
			Protocol: rapid.SampledFrom([]model.Protocol{model.HTTP, model.HTTPS, model.HTTPS, model.TLS, model.TCP, model.TCP, model.UDP, "SCTP"}).Draw(t, "protocol"),
			Admits:   rapid.IntRange(0, 3).Draw(t, "admits"),
			Table:    tableNames.Draw(t, "table"), Chains: rapid.SliceOfN(chains, 0, 3).Draw(t, "chains"),
			Stream: rapid.OneOf(rapid.Just[*model.Forward](nil), forwards).Draw(t, "stream"), Origins: refs.Draw(t, "refs"),
		}
	})
	clusters = rapid.Custom(func(t *rapid.T) model.Cluster {
		c := model.Cluster{
			ID: name[model.ClusterID]("shop/a:80", "shop/b:80").Draw(t, "id"), Gateway: edge,
			Protocol: rapid.SampledFrom([]model.UpstreamProtocol{model.UpstreamHTTP1, model.UpstreamHTTP2, model.UpstreamTCP, model.UpstreamHTTP1, "", "SPDY"}).Draw(t, "protocol"),
			Host:     name("", "", "a.example", "127.0.0.1").Draw(t, "host"), Port: rapid.SampledFrom([]uint16{0, 80}).Draw(t, "port"), Origins: refs.Draw(t, "refs"),
		}
		if rapid.IntRange(0, 3).Draw(t, "budget") == 0 {
			c.Retries = model.RetryBudget{Percent: rapid.Uint32Range(0, 101).Draw(t, "percent"), Interval: rapid.SampledFrom([]time.Duration{0, time.Second, -1, 1 << 62}).Draw(t, "interval"), Least: rapid.Uint32().Draw(t, "least")}
		}
		if rapid.Bool().Draw(t, "tls") {
			c.TLS = &model.UpstreamTLS{SNI: name("a.example", "10.0.0.1").Draw(t, "sni"), Names: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.SubjectName {
				return model.SubjectName{URI: rapid.Bool().Draw(t, "uri"), Value: name("a.example", "*.example", "spiffe://a/b").Draw(t, "san")}
			}), 0, 2).Draw(t, "names")}
			if rapid.Bool().Draw(t, "authority") {
				c.TLS.CA = goodPair().Cert
			}
		}
		return c
	})
	endpointSets = rapid.Custom(func(t *rapid.T) model.Endpoints {
		endpoint := rapid.Custom(func(t *rapid.T) model.Endpoint {
			return model.Endpoint{
				Address:  rapid.SampledFrom([]netip.AddrPort{{}, netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("[::1]:80"), netip.MustParseAddrPort("10.0.0.1:0")}).Draw(t, "address"),
				Draining: rapid.Bool().Draw(t, "draining"),
			}
		})
		return model.Endpoints{Cluster: name[model.ClusterID]("shop/a:80", "shop/b:80").Draw(t, "cluster"), Addresses: rapid.SliceOfN(endpoint, 0, 3).Draw(t, "addresses"), Origins: refs.Draw(t, "refs")}
	})
	certificates = rapid.Custom(func(t *rapid.T) model.Certificate {
		part := rapid.SampledFrom([][]byte{nil, []byte("x"), goodPair().Cert, goodPair().Key})
		c := model.Certificate{ID: name[model.CertificateID]("shop/tls", "shop/tls2").Draw(t, "id"), Gateway: edge, Chain: goodPair().Cert, Key: goodPair().Key, Origins: refs.Draw(t, "refs")}
		if rapid.Bool().Draw(t, "bad") {
			c.Chain, c.Key = part.Draw(t, "chain"), part.Draw(t, "key")
		}
		return c
	})
	worlds = rapid.Custom(func(t *rapid.T) world {
		byPort := map[string]model.Listener{}
		for i, l := range rapid.SliceOfN(listeners, 0, 3).Draw(t, "listeners") {
			byPort[fmt.Sprintf("shop/edge/%d", i)] = l
		}
		return world{
			Gateways: []model.Gateway{{ID: edge, Settings: model.Settings{AccessLog: rapid.SampledFrom([]string{"", "-", "/dev/null", "relative", "\x00"}).Draw(t, "log")}}}, Listeners: byPort,
			Tables:       rapid.SliceOfNDistinct(tables, 0, 3, func(v table) string { return string(v.ID) }).Draw(t, "tables"),
			Clusters:     rapid.SliceOfNDistinct(clusters, 0, 3, func(v model.Cluster) string { return string(v.ID) }).Draw(t, "clusters"),
			Endpoints:    rapid.SliceOfNDistinct(endpointSets, 0, 3, func(v model.Endpoints) string { return string(v.Cluster) }).Draw(t, "endpoints"),
			Certificates: rapid.SliceOfNDistinct(certificates, 0, 2, func(v model.Certificate) string { return string(v.ID) }).Draw(t, "certificates"),
		}
	})
)
