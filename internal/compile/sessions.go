package compile

import (
	"cmp"
	"strings"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// session is what a rule or a policy asks for, before it is known of which backend.
type session struct {
	model.Session
	// Owner is what cookies without a name are named after.
	Owner string
	// Problem is a value that no rule may have.
	Problem *problem
	// Warnings are what a session cannot have.
	Warnings []*problem
}

// readSession reads how clients are kept at one endpoint; nil is not at all.
func readSession(field, owner string, spec *gateway_v1.SessionPersistence) *session {
	if spec == nil {
		return nil
	}
	out := &session{Owner: owner}
	out.Lifetime, out.Problem = readLifetime(field+".absoluteTimeout", spec.AbsoluteTimeout)
	if orElse(spec.Type, gateway_v1.CookieBasedSessionPersistence) == gateway_v1.HeaderBasedSessionPersistence {
		out.readHeader(field, spec.Header)
	} else {
		out.readCookie(field, spec.Cookie)
	}
	return out
}

func (s *session) readHeader(field string, spec *gateway_v1.HeaderConfig) {
	if spec == nil {
		s.Problem = first(s.Problem, problemf(verdict.UnsupportedValue, field+".header", "must be set with type Header"))
		return
	}
	s.Header = strings.ToLower(string(spec.Name))
	s.Problem = first(s.Problem, ownHeader(field+".header.name", s.Header))
	if s.Lifetime != 0 {
		s.Lifetime = 0
		s.Warnings = append(s.Warnings, problemf(verdict.NoEffect, field+".absoluteTimeout", "a session of a header does not end by time: use type Cookie"))
	}
}

func (s *session) readCookie(field string, spec *gateway_v1.CookieConfig) {
	s.Cookie.Path = "/"
	if spec == nil {
		return
	}
	s.Cookie = model.Cookie{
		Name: string(orElse(spec.Name, "")), Path: cmp.Or(orElse(spec.Path, ""), "/"),
		Permanent: orElse(spec.LifetimeType, gateway_v1.SessionCookieLifetimeType) == gateway_v1.PermanentCookieLifetimeType,
	}
	switch {
	case s.Cookie.Name != "" && model.TokenFault(s.Cookie.Name) != "":
		s.Problem = first(s.Problem, faulty(field+".cookie.name", s.Cookie.Name, model.TokenFault(s.Cookie.Name)))
	case model.CookiePathFault(s.Cookie.Path) != "":
		s.Problem = first(s.Problem, faulty(field+".cookie.path", s.Cookie.Path, model.CookiePathFault(s.Cookie.Path)))
	case s.Cookie.Permanent && s.Lifetime == 0:
		s.Problem = first(s.Problem, problemf(verdict.UnsupportedValue, field+".absoluteTimeout", "must be set, and above 0, with lifetimeType Permanent"))
	}
}

// ownHeader refuses headers that say something else, and that proxies or clients set.
func ownHeader(field, name string) *problem {
	switch name {
	case "host", "cookie", "set-cookie", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer":
		return problemf(verdict.UnsupportedValue, field, "%q: this header has a meaning of its own: use another", name)
	}
	return faulty(field, name, model.HeaderNameFault(name))
}

// readLifetime reads how long a session lasts, which cookies say in seconds.
func readLifetime(field string, spec *gateway_v1.Duration) (time.Duration, *problem) {
	d, why := readDuration(field, spec)
	if why == nil && d%time.Second != 0 {
		why = problemf(verdict.UnsupportedValue, field, "%q: must be whole seconds", *spec)
	}
	return d, why
}

// sessionNames gives the backends of one rule sessions of their own. Which backend a
// request goes to is settled by weight and not by the session, so that a client may
// have one at each of them: with one cookie for all, each would end that of another.
type sessionNames struct {
	taken map[string]bool
	// Shared is the header that several backends want, each of which ends the other's session.
	Shared string
}

// session is the session of one backend. A cookie without a name is named after the
// backend; a name belongs to the first backend of a rule, and others add to it.
func (n *sessionNames) session(s *session, to model.ClusterID) *model.Session {
	if s == nil {
		return nil
	}
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	out := s.Session
	if out.Header != "" {
		if n.taken[out.Header] {
			n.Shared = out.Header
		}
		n.taken[out.Header] = true
		return &out
	}
	if out.Cookie.Name == "" {
		out.Cookie.Name = "gatehouse-" + digest([]string{s.Owner, string(to)})
	}
	if n.taken["="+out.Cookie.Name] {
		out.Cookie.Name += "-" + digest(to)
	}
	n.taken["="+out.Cookie.Name] = true
	return &out
}

// session is what a rule asks for, or what its backend does.
func (r *rule) session(own *session, to backend) *session {
	if own != nil || to.Session == nil {
		return own
	}
	r.Uses = append(r.Uses, to.SessionBy)
	return to.Session
}

// secured is the session at a listener: cookies of requests by TLS are never sent in clear.
func secured(s *model.Session, protocol model.Protocol) *model.Session {
	if s == nil || s.Header != "" || protocol != model.HTTPS {
		return s
	}
	out := *s
	out.Cookie.Secure = true
	return &out
}
