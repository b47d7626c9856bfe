package session

import "strings"

// pooledSegment is the last segment of a login for the pooled service of a deployment.
const pooledSegment = "pool"

// Login is what a user name says: user.deployment[.pool]. Names are raw bytes; nothing
// is decoded, and case matters.
type Login struct {
	User string
	// Deployment is empty in a bare login, which names none.
	Deployment string
	Pooled     bool
}

// ParseLogin splits a user name from the right, so that users may have dots. A login is
// bare if it has no dot. The error is a [*RefusalError] with SQLSTATE 28000.
func ParseLogin(name string) (Login, error) {
	rest, last, dotted := strings.CutLast(name, ".")
	if !dotted {
		return Login{User: name}, nil
	}
	login := Login{User: rest, Deployment: last}
	if last == pooledSegment {
		login.User, login.Deployment, _ = strings.CutLast(rest, ".")
		login.Pooled = true
	}
	if login.User == "" || login.Deployment == "" {
		return Login{}, refuse(InvalidAuthorization, hintLogin, "login %s names no user or no deployment", quote(name))
	}
	return login, nil
}

// String returns the login as a client writes it.
func (l Login) String() string {
	parts := []string{l.User}
	if l.Deployment != "" {
		parts = append(parts, l.Deployment)
	}
	if l.Pooled {
		parts = append(parts, pooledSegment)
	}
	return strings.Join(parts, ".")
}
