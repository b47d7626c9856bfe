// Package host runs one supervised Envoy process per Gateway on this machine:
// it makes the bootstrap, starts, watches, restarts with back-off, drains and
// stops it, and leaves no orphan. It knows nothing of routes.
package host
