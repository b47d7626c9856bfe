package e2e

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

const grpcRoutes = `apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: calls, namespace: e2e}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [calls.e2e.test]
  rules:
  - matches: [{method: {service: shop.Cart, method: Add}, headers: [{name: x-kind, value: big}]}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Mark, value: big}]}}]
    backendRefs: [{name: calls, port: 80}]
  - matches: [{method: {service: shop.Cart, method: Add}}]
    backendRefs: [{name: calls, port: 80}]
  - matches: [{method: {service: shop.Gone}}]
    backendRefs: [{name: nowhere, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: calls, namespace: e2e}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: calls-1, namespace: e2e, labels: {kubernetes.io/service-name: calls}}
addressType: IPv4
ports: [{port: %d}]
endpoints: [{addresses: [127.0.0.1]}]
`

// calls: a GRPCRoute sends real gRPC calls to a real gRPC backend.
func (s *stage) calls(t *testing.T) {
	b, err := backend.StartGRPC(t.Context(), "calls", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	s.write(t, "grpc.yaml", fmt.Sprintf(grpcRoutes, b.Addr.Port()))
	call := func(ctx context.Context, method string, want string, code codes.Code, pairs ...string) error {
		got, err := rig.Call(ctx, s.http, "calls"+domain, method, pairs...)
		if got != want || status.Code(err) != code {
			return fmt.Errorf("%s: %q, %w, want %q, %v", method, got, err, want, code)
		}
		return nil
	}
	s.eventually(t, "a call", func(ctx context.Context) error { return call(ctx, "/shop.Cart/Add", "calls /shop.Cart/Add", codes.OK) })
	for _, err := range []error{
		call(t.Context(), "/shop.Cart/Add", "calls /shop.Cart/Add big", codes.OK, "x-kind", "big"),
		call(t.Context(), "/shop.Cart/Remove", "", codes.Unimplemented),
		call(t.Context(), "/shop.Gone/Any", "", codes.Unavailable),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	s.waitState(t, "grpcroute", "e2e/calls", verdict.Partial)
	s.waitReason(t, "grpcroute", "e2e/calls", "BackendNotFound")
}
