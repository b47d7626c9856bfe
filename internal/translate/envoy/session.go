package envoy

import (
	_ "embed" // the filter's source
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_lua_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	envoy_session_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	envoy_cookie_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	envoy_header_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	envoy_http_v3 "github.com/envoyproxy/go-control-plane/envoy/type/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// sessionFilter keeps clients at one endpoint. It is part of every listener, without
// a session of its own, so that the first route that asks for one does not replace
// the listener. Settings are those of a share: which backend a request goes to is
// settled before.
const sessionFilter = "envoy.filters.http.stateful_session"

// lifetimeFilter takes the end out of cookies that have one and are not permanent:
// Envoy checks a session's end by a time inside the cookie's value, and tells clients
// of every end that it checks. It runs a script only where a share names it.
const lifetimeFilter = "gatehouse.lifetime"

// untilClientEnds is the name of its script.
const untilClientEnds = "until client ends"

//go:embed lifetime.lua
var lifetimeSource string

func lifetimeScripts() *envoy_lua_v3.Lua {
	return &envoy_lua_v3.Lua{SourceCodes: map[string]*envoy_core_v3.DataSource{
		untilClientEnds: {Specifier: &envoy_core_v3.DataSource_InlineString{InlineString: lifetimeSource}},
	}}
}

// translateSession makes the settings that keep clients at one endpoint of a share.
// A session whose endpoint is gone continues at another one.
func translateSession(s *model.Session) (settings, error) {
	if s == nil {
		return nil, nil
	}
	state, err := sessionState(s)
	if err != nil {
		return nil, err
	}
	out, err := configured(nil, sessionFilter, &envoy_session_v3.StatefulSessionPerRoute{
		Override: &envoy_session_v3.StatefulSessionPerRoute_StatefulSession{StatefulSession: &envoy_session_v3.StatefulSession{SessionState: state}},
	})
	if err != nil || s.Header != "" || s.Cookie.Permanent || s.Lifetime == 0 {
		return out, err
	}
	return configured(out, lifetimeFilter, &envoy_lua_v3.LuaPerRoute{
		Override:      &envoy_lua_v3.LuaPerRoute_Name{Name: untilClientEnds},
		FilterContext: &structpb.Struct{Fields: map[string]*structpb.Value{"cookie": structpb.NewStringValue(s.Cookie.Name)}},
	})
}

func sessionState(s *model.Session) (*envoy_core_v3.TypedExtensionConfig, error) {
	if s.Header != "" {
		if err := checkEdited("header", s.Header); err != nil {
			return nil, err
		}
		return extension("envoy.http.stateful_session.header", &envoy_header_v3.HeaderBasedSessionState{Name: s.Header})
	}
	cookie, err := sessionCookie(s)
	if err != nil {
		return nil, err
	}
	return extension("envoy.http.stateful_session.cookie", &envoy_cookie_v3.CookieBasedSessionState{Cookie: cookie})
}

// sessionCookie is a cookie that no script of a page and no other site can use.
// Envoy adds HttpOnly itself.
func sessionCookie(s *model.Session) (*envoy_http_v3.Cookie, error) {
	if err := unless("cookie.name", s.Cookie.Name, model.TokenFault(s.Cookie.Name)); err != nil {
		return nil, err
	}
	if err := unless("cookie.path", s.Cookie.Path, model.CookiePathFault(s.Cookie.Path)); err != nil {
		return nil, err
	}
	if err := checkTimeout("lifetime", s.Lifetime); err != nil {
		return nil, err
	}
	if s.Lifetime%time.Second != 0 {
		return nil, faultf("lifetime", s.Lifetime.String(), "a session lasts whole seconds")
	}
	out := &envoy_http_v3.Cookie{
		Name: s.Cookie.Name, Path: s.Cookie.Path, Ttl: durationpb.New(s.Lifetime),
		Attributes: []*envoy_http_v3.CookieAttribute{{Name: "SameSite", Value: "Strict"}},
	}
	if s.Cookie.Secure {
		out.Attributes = append(out.Attributes, &envoy_http_v3.CookieAttribute{Name: "Secure"})
	}
	return out, nil
}
