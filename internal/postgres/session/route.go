package session

import (
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// Settings in the startup parameter "options" that name a route; they are ours, and no
// server gets them.
const (
	settingDeployment = "gatehouse.deployment"
	settingPooled     = "gatehouse.pooled"
)

// defaultDatabase is used when a client names none, or libpq put its login there.
const defaultDatabase = "postgres"

// Source says what named a route.
type Source string

// The sources of routes.
const (
	FromLogin   Source = "login"
	FromOptions Source = "options"
	FromSNI     Source = "SNI"
)

// Route is where a session goes, and as whom.
type Route struct {
	Deployment string
	Pooled     bool
	Source     Source
	// User is the name that the server gets. Renamed tells that it differs from the login.
	User    string
	Renamed bool
	// Parameters are those of the startup message as the server gets them.
	Parameters pgwire.Parameters
}

// Deployments tells which deployments there are.
type Deployments interface {
	// Known returns the name of a deployment as it is registered, pooled or not; the
	// one that is spelled so exactly goes before others that differ in case.
	Known(name string) (registered string, ok bool)
}

// named is a route that something else than the login names.
type named struct {
	deployment string
	pooled     *bool // nil when it says nothing of it
	source     Source
}

// Decide returns the route of a startup message. sni is the host name of the client's
// TLS handshake, which routes if it ends in "."+suffix. The error is a [*RefusalError].
//
// The login, options and SNI may all name a deployment, and must agree. If SNI or
// options do, a login with the same suffix loses it, one whose suffix is another known
// deployment is refused, and any other is a plain user name.
func Decide(parameters pgwire.Parameters, sni, suffix string, known Deployments) (Route, error) {
	login, _ := parameters.Get("user")
	if login == "" {
		return Route{}, refuse(InvalidAuthorization, hintLogin, "no user name in the startup message")
	}
	options, err := fromOptions(parameters)
	if err != nil {
		return Route{}, err
	}
	name, err := agreed(options, fromSNI(sni, suffix, known))
	if err != nil {
		return Route{}, err
	}
	var route Route
	if name.deployment == "" {
		err = route.byLogin(login, name.pooled)
	} else {
		err = route.byName(login, name, known)
	}
	if err != nil {
		return Route{}, err
	}
	route.Renamed = route.User != login
	route.Parameters = rewritten(parameters, route.User, login)
	return route, nil
}

// byLogin takes the route from the login; options may ask for the pooled one.
func (r *Route) byLogin(name string, pooled *bool) error {
	login, err := ParseLogin(name)
	switch {
	case err != nil:
		return err
	case login.Deployment == "":
		return refuse(InvalidAuthorization, hintLogin, "login %s names no deployment", quote(name))
	case pooled != nil && login.Pooled && !*pooled:
		return differ("login "+quote(name), string(FromOptions))
	}
	r.User, r.Deployment, r.Source = login.User, login.Deployment, FromLogin
	r.Pooled = login.Pooled || pooled != nil && *pooled
	return nil
}

// byName takes the route from what else names it, and the user from the login.
func (r *Route) byName(name string, n named, known Deployments) error {
	r.User, r.Deployment, r.Source = name, n.deployment, n.source
	r.Pooled = n.pooled != nil && *n.pooled
	login, err := ParseLogin(name)
	if err != nil || login.Deployment == "" {
		return nil //nolint:nilerr // then it is a plain user name
	}
	if login.Deployment == n.deployment {
		if n.pooled != nil && login.Pooled != *n.pooled {
			return differ("login "+quote(name), string(n.source))
		}
		r.User, r.Pooled = login.User, login.Pooled
		return nil
	}
	if registered, ok := known.Known(login.Deployment); ok && registered == login.Deployment {
		return disagree("login "+quote(name), string(n.source))
	}
	return nil
}

// agreed joins what options and SNI name; nil is nothing.
func agreed(options, sni *named) (named, error) {
	switch {
	case options == nil && sni == nil:
		return named{}, nil
	case sni == nil:
		return *options, nil
	case options == nil:
		return *sni, nil
	}
	if options.deployment != "" && !strings.EqualFold(options.deployment, sni.deployment) {
		return named{}, disagree("options", "SNI")
	}
	if options.pooled != nil && *options.pooled != *sni.pooled {
		return named{}, differ("options", "SNI")
	}
	return *sni, nil
}

func disagree(a, b string) error {
	return refuse(InvalidAuthorization, "name the deployment once, or the same one everywhere", "%s and %s name different deployments", a, b)
}

func differ(a, b string) error {
	return refuse(InvalidAuthorization, "ask for the pooler in both, or in neither", "%s and %s differ about the pooler of the deployment", a, b)
}

// fromOptions reads our settings; nil is none of them. Of equal ones the last counts, as
// in PostgreSQL.
func fromOptions(parameters pgwire.Parameters) (*named, error) {
	line, _ := parameters.Get("options")
	n := &named{source: FromOptions}
	for _, s := range pgwire.Settings(line) {
		switch {
		case s.Is(settingDeployment):
			n.deployment = s.Value
		case s.Is(settingPooled):
			pooled, ok := boolean(s.Value)
			if !ok {
				return nil, refuse(InvalidAuthorization, "write on or off", "option %s has %s, which is no boolean", settingPooled, quote(s.Value))
			}
			n.pooled = &pooled
		}
	}
	if n.deployment == "" && n.pooled == nil {
		return nil, nil //nolint:nilnil // they name nothing
	}
	return n, nil
}

// boolean reads one as PostgreSQL's configuration does, for what we accept of it.
func boolean(value string) (is, ok bool) {
	switch strings.ToLower(value) {
	case "on", "true", "yes", "1", "t", "y":
		return true, true
	case "off", "false", "no", "0", "f", "n":
		return false, true
	}
	return false, false
}

// fromSNI reads "deployment[.pool].suffix", without case; nil is another name. A
// deployment that is not known keeps the spelling of the name.
func fromSNI(name, suffix string, known Deployments) *named {
	label, ok := cutSuffixFold(name, "."+suffix)
	if suffix == "" || !ok || label == "" {
		return nil
	}
	pooled := false
	if before, last, dotted := strings.CutLast(label, "."); dotted && strings.EqualFold(last, pooledSegment) {
		label, pooled = before, true
	}
	if registered, ok := known.Known(label); ok {
		label = registered
	}
	return &named{deployment: label, pooled: &pooled, source: FromSNI}
}

func cutSuffixFold(s, suffix string) (before string, found bool) {
	if i := len(s) - len(suffix); i >= 0 && strings.EqualFold(s[i:], suffix) {
		return s[:i], true
	}
	return s, false
}

// rewritten are the parameters as the server gets them: the user's plain name, a
// database, and options without our settings. All others stay as they are.
func rewritten(parameters pgwire.Parameters, user, login string) pgwire.Parameters {
	out := parameters
	out.Set("user", user)
	if database, _ := out.Get("database"); database == "" || database == login {
		out.Set("database", defaultDatabase)
	}
	line, given := out.Get("options")
	if !given || len(pgwire.Settings(line)) == 0 {
		return out
	}
	ours := func(s pgwire.Setting) bool { return s.Is(settingDeployment) || s.Is(settingPooled) }
	if rest := pgwire.RemoveSettings(line, ours); rest != "" {
		out.Set("options", rest)
	} else {
		out.Delete("options")
	}
	return out
}
