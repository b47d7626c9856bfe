package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// listenerSet is a ListenerSet of another namespace with the section names of the
// Gateway, a route of its own, and the grant for its certificate.
const listenerSet = `apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: other}
spec:
  parentRef: {name: edge, namespace: e2e}
  listeners:
  - {name: http, protocol: HTTP, port: @HTTP@, hostname: set.e2e.test}
  - name: a
    protocol: HTTPS
    port: @HTTPS@
    hostname: set.e2e.test
    tls: {certificateRefs: [{name: set-tls, namespace: e2e}]}
  - {name: taken, protocol: HTTPS, port: @HTTPS@, hostname: a.e2e.test, tls: {certificateRefs: [{name: set-tls, namespace: e2e}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: set, namespace: other}
spec:
  parentRefs: [{kind: ListenerSet, name: more}]
  rules: [{backendRefs: [{name: vault, port: 80}]}]
`

const listenerSetGrant = `apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: sets, namespace: e2e}
spec:
  from: [{group: gateway.networking.k8s.io, kind: ListenerSet, namespace: other}]
  to: [{group: "", kind: Secret, name: set-tls}]
`

// TestListenerSets: a set adds listeners to a live Gateway and takes them away; one
// that loses its host name, or has no certificate, closes alone.
func TestListenerSets(t *testing.T) {
	s := prepare(t)
	s.write(t, "base.yaml", base)
	s.write(t, "gateway.yaml", strings.Replace(gateway("edge", httpListener+`  - {name: a, protocol: HTTPS, port: @HTTPS@, hostname: a.e2e.test, tls: {certificateRefs: [{name: a-tls}]}}
`), "\n  listeners:", "\n  allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {team: away}}}}\n  listeners:", 1))
	s.secret(t, "a-tls.yaml", "a-tls", "a.e2e.test")
	s.secret(t, "set-tls.yaml", "set-tls", "set.e2e.test")
	s.write(t, "own.yaml", route("own", "http", "set.e2e.test", "  - "+to("red")))
	s.write(t, "own-a.yaml", route("own-a", "a", "a.e2e.test", "  - "+to("green")))
	s.run(t)
	s.must(t, s.WaitReady)
	answers := func(what string, c try) {
		t.Helper()
		s.eventually(t, what, func(ctx context.Context) error { return s.try(ctx, "set.e2e.test", c) })
	}
	answers("the Gateway's route answers", try{from: "red"})

	s.write(t, "set.yaml", listenerSet)
	answers("the set's host name is its own", try{from: "blue"})
	s.waitState(t, "listenerset", "other/more", verdict.Partial)
	if _, err := s.handshake(t.Context(), "set.e2e.test"); err == nil {
		t.Error("a listener without a permitted certificate answers")
	}

	s.write(t, "grant.yaml", listenerSetGrant)
	answers("with a grant it answers over TLS", try{through: "https", from: "blue"})
	s.waitReason(t, "listenerset", "other/more", verdict.HostnameConflict.Name)
	s.eventually(t, "the Gateway keeps its host name", func(ctx context.Context) error {
		return s.try(ctx, "a.e2e.test", try{through: "https", from: "green"})
	})

	s.remove(t, "set.yaml")
	answers("without the set the Gateway's route answers", try{from: "red"})
}
