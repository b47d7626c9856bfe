package discovery

import "github.com/gatehouse-proxy/gatehouse/internal/postgres/session"

// UnknownError says that no backend serves a deployment in the form that was asked for.
// It wraps the [*session.RefusalError] that a client is told.
type UnknownError struct {
	Deployment string
	Pooled     bool
	// Other tells that the deployment has a backend of the other form.
	Other bool
}

// Error implements error.
func (e *UnknownError) Error() string { return e.Unwrap().Error() }

// Unwrap returns what a client is told.
func (e *UnknownError) Unwrap() error {
	if e.Other {
		return session.OtherForm(e.Deployment, e.Pooled)
	}
	return session.Unknown(e.Deployment)
}

// NotReadyError says that a deployment is known and that none of its endpoints is ready;
// one may be soon. It wraps the [*session.RefusalError] that a client is told.
type NotReadyError struct {
	Deployment string
	Pooled     bool
}

// Error implements error.
func (e *NotReadyError) Error() string { return e.Unwrap().Error() }

// Unwrap returns what a client is told.
func (e *NotReadyError) Unwrap() error { return session.NotReady(e.Deployment) }
