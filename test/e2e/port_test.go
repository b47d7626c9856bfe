package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/meta"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// squat takes a port as a foreign process does that itself shares it by SO_REUSEPORT.
func squat(t *testing.T, port uint16) net.Listener {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var setErr error
		err := c.Control(func(fd uintptr) {
			setErr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		if err != nil {
			return err
		}
		return setErr
	}}
	l := must(config.Listen(t.Context(), "tcp", netip.AddrPortFrom(rig.Loopback, port).String()))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestPortHeldByForeignProcess: one listener's misfortune, until the port is free.
func TestPortHeldByForeignProcess(t *testing.T) {
	s := prepare(t)
	held := port(t)
	foreign := squat(t, held)
	s.write(t, "base.yaml", base)
	s.write(t, "gateway.yaml", gateway("edge", httpListener+fmt.Sprintf("  - {name: taken, protocol: HTTP, port: %d}\n", held)))
	s.write(t, "good.yaml", route("good", "http", "good"+domain, `  - `+to("red")))
	s.write(t, "late.yaml", route("late", "taken", "late"+domain, `  - `+to("green")))
	s.run(t)
	s.eventually(t, "the other listener serves", func(ctx context.Context) error {
		return s.try(ctx, "good"+domain, try{from: "red"})
	})
	s.eventually(t, "the listener's verdict names the port", func(ctx context.Context) error {
		v, err := s.API().Verdict(ctx, "gateway", "e2e/edge")
		if err == nil && (v.State == verdict.Serving || !strings.Contains(rig.Steps(v), str(held))) {
			err = fmt.Errorf("it is %s:%s", v.State, rig.Steps(v))
		}
		return err
	})
	s.programmed(t, "e2e/edge", "taken", meta_v1.ConditionFalse, str(held))
	s.programmed(t, "e2e/edge", "http", meta_v1.ConditionTrue)

	if err := foreign.Close(); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "the listener serves once its port is free", func(ctx context.Context) error {
		got, err := rig.Do(ctx, rig.Request{Port: held, Host: "late" + domain})
		if err == nil && got.Answer.Backend != "green" {
			err = fmt.Errorf("%d %s", got.Status, got.Body)
		}
		return err
	})
	s.waitState(t, "gateway", "e2e/edge", verdict.Serving)
}

// TestTwoGatewaysWantOnePort: the older has it, and the other is told who and what to do.
func TestTwoGatewaysWantOnePort(t *testing.T) {
	s := prepare(t)
	s.write(t, "base.yaml", base)
	s.write(t, "edge.yaml", created("edge", "2024-01-01T00:00:00Z"))
	s.write(t, "young.yaml", created("another", "2024-06-01T00:00:00Z"))
	s.write(t, "r1.yaml", route("first", "http", "port"+domain, `  - `+to("red")))
	s.write(t, "r2.yaml", strings.Replace(route("second", "http", "port"+domain, `  - `+to("green")), "name: edge", "name: another", 1))
	s.run(t)
	s.eventually(t, "the older Gateway has the port", func(ctx context.Context) error {
		return s.try(ctx, "port"+domain, try{from: "red"})
	})
	for _, word := range []string{"held by Gateway e2e/edge", "spec.addresses", str(s.http)} {
		s.eventually(t, "the younger is told who and what to do", func(ctx context.Context) error {
			return s.explains(ctx, word, "gateway e2e/another")
		})
	}
	s.programmed(t, "e2e/another", "http", meta_v1.ConditionFalse, "e2e/edge", "spec.addresses")
	s.waitState(t, "gateway", "e2e/edge", verdict.Serving)

	s.remove(t, "edge.yaml")
	s.eventually(t, "the younger has it once the older is gone", func(ctx context.Context) error {
		return s.try(ctx, "port"+domain, try{from: "green"})
	})
}

// programmed waits until a listener's condition Programmed is as wanted, with
// every word in its message.
func (s *stage) programmed(t *testing.T, gateway, listener string, want meta_v1.ConditionStatus, words ...string) {
	t.Helper()
	s.eventually(t, fmt.Sprintf("listener %s of %s has Programmed=%s", listener, gateway, want), func(ctx context.Context) error {
		raw, err := s.API().Object(ctx, "gateway", gateway)
		if err != nil {
			return err
		}
		var object gateway_v1.Gateway
		if err := json.Unmarshal(raw, &object); err != nil {
			return err
		}
		for _, l := range object.Status.Listeners {
			c := meta.FindStatusCondition(l.Conditions, string(gateway_v1.ListenerConditionProgrammed))
			if string(l.Name) == listener && c != nil && c.Status == want && c.ObservedGeneration == object.Generation && hasAll(c.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("status is %+v", object.Status.Listeners)
	})
}

func hasAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

func created(name, at string) string {
	return strings.Replace(gateway(name, httpListener), "namespace: e2e}", fmt.Sprintf("namespace: e2e, creationTimestamp: %q}", at), 1)
}
