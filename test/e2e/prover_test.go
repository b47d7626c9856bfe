package e2e

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// logged is a Gateway with an access log at a path, on the TCP port of the stage.
func logged(path string) string {
	return fmt.Sprintf(`apiVersion: gatehouse.dev/v1alpha1
kind: GatewayConfig
metadata: {name: logged, namespace: e2e}
spec: {accessLog: {path: %q}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: logged, namespace: e2e}
spec:
  gatewayClassName: gatehouse
  infrastructure:
    parametersRef: {group: gatehouse.dev, kind: GatewayConfig, name: logged}
  listeners:
  - {name: http, protocol: HTTP, port: @TCP@, allowedRoutes: {namespaces: {from: All}}}
`, path)
}

// What only an Envoy knows to be wrong, such as a log in a directory that is not there,
// is refused before any proxy that serves gets it; what is independent does not notice.
func TestFaultsOfEnvoyAlone(t *testing.T) {
	s := startSteady(t)
	fault{
		name:   "a log in a directory that is not there",
		inject: writes("logged.yaml", logged("/no/such/directory/log")), rejected: "gatewayconfig e2e/logged", says: "/no/such/directory/log",
		repair: writes("logged.yaml", logged("/dev/null")),
	}.run(t, s)
	s.waitState(t, "gateway", "e2e/logged", verdict.Serving)
}

// With --prover=require changes wait while the proving Envoy hangs, and land once
// another has taken its place; what is served does not notice.
func TestProvingEnvoyHangs(t *testing.T) {
	s := start(t, simple(), "--prover", "require")
	first := oneProver(t, s)
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.write(t, "route.yaml", route("only", "http", "only"+domain, `  - `+to("blue")))
	s.eventually(t, "another serves as proof", func(ctx context.Context) error {
		if err := s.try(ctx, "only"+domain, try{from: "red"}); err != nil {
			if served := s.try(ctx, "only"+domain, try{from: "blue"}); served != nil {
				t.Errorf("neither the old nor the new backend answers: %v, %v", err, served)
			}
		}
		now := provers(t, s.PID())
		if len(now) != 1 || now[0] == first {
			return fmt.Errorf("proving Envoys: %v", now)
		}
		return s.try(ctx, "only"+domain, try{from: "blue"})
	})
}

// Killed, it is started again, and the change that it missed is served.
func TestProvingEnvoyKilled(t *testing.T) {
	s := start(t, simple(), "--prover", "require")
	first := oneProver(t, s)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.write(t, "route.yaml", route("only", "http", "only"+domain, `  - `+to("blue")))
	s.eventually(t, "the change is served", func(ctx context.Context) error { return s.try(ctx, "only"+domain, try{from: "blue"}) })
	if now := oneProver(t, s); now == first {
		t.Error("it is the same process")
	}
}

// It takes no port, also of listeners that it was asked about.
func TestProvingEnvoyTakesNoPort(t *testing.T) {
	s := start(t, simple())
	if ports := listeningTCP(t, oneProver(t, s)); len(ports) > 0 {
		t.Errorf("the proving Envoy listens on TCP ports %v", ports)
	}
}

// With --prover=off there is none.
func TestProvingEnvoyOff(t *testing.T) {
	s := start(t, simple(), "--prover", "off")
	if all := provers(t, s.PID()); len(all) > 0 {
		t.Errorf("proving Envoys: %v", all)
	}
	if err := s.try(t.Context(), "only"+domain, try{from: "red"}); err != nil {
		t.Error(err)
	}
}

func oneProver(t *testing.T, s *stage) int {
	t.Helper()
	var pid int
	s.eventually(t, "there is one proving Envoy", func(context.Context) error {
		all := provers(t, s.PID())
		if len(all) != 1 {
			return errors.New("not one")
		}
		pid = all[0]
		return nil
	})
	return pid
}
