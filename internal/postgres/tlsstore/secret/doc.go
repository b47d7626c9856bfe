// Package secret takes the certificate that PostgreSQL clients see from one Kubernetes
// Secret: it watches that one object, and hands what it holds to a tlsstore.Store. It
// makes the Secret if it may and there is none, and renews what it made itself; several
// routers that do so at once agree through the API server on what one of them made.
//
// Whatever goes wrong, at the API or in the Secret, the certificate that serves goes on
// serving. No log holds key material.
package secret
