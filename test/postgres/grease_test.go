package postgres_test

import (
	"context"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// Versions and options of the protocol that nobody knows yet: the server settles them
// with the client as if they met alone, and what the router does not know it still cancels.
func TestUnknownProtocols(t *testing.T) {
	for _, version := range []pgtest.Version{pgtest.Installed, pgtest.V17, pgtest.V18} {
		server := pgtest.Start(t, pgtest.Options{Version: version, Auth: "trust"})
		router := pgtest.Route(t, "--static-backends", "orders="+server.Address).Ready(t)
		for _, asked := range []pgwire.Version{3<<16 | 1, 3<<16 | 2, 3<<16 | 3, 3<<16 | 9999} {
			t.Run(string(version)+" "+asked.String(), func(t *testing.T) {
				alone := greet(t, server.Address, "postgres", asked)
				routed := greet(t, router.Address, "postgres.orders", asked)
				if alone.settled == nil || !reflect.DeepEqual(routed.settled, alone.settled) || len(routed.key.SecretKey) != len(alone.key.SecretKey) {
					t.Fatalf("settled %+v, key of %d bytes; alone %+v, %d bytes", routed.settled, len(routed.key.SecretKey), alone.settled, len(alone.key.SecretKey))
				}
				if got := routed.cancelled(t, router.Address); got != "57014" {
					t.Errorf("the query ends with %q, want 57014", got)
				}
			})
		}
	}
}

// greeted is a client after its login.
type greeted struct {
	frontend *pgproto3.Frontend
	settled  *pgproto3.NegotiateProtocolVersion
	key      pgproto3.BackendKeyData
}

func greet(t *testing.T, address, login string, version pgwire.Version) *greeted {
	t.Helper()
	conn := dial(t, address)
	g := &greeted{frontend: pgproto3.NewFrontend(conn, conn)}
	g.frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: uint32(version), Parameters: map[string]string{
		"user": login, "database": "postgres", "_pq_.test_protocol_negotiation": "",
	}})
	if err := g.frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		switch m := g.receive(t).(type) {
		case *pgproto3.NegotiateProtocolVersion:
			g.settled = new(*m)
		case *pgproto3.BackendKeyData:
			g.key = pgproto3.BackendKeyData{ProcessID: m.ProcessID, SecretKey: append([]byte(nil), m.SecretKey...)}
		case *pgproto3.ErrorResponse:
			t.Fatalf("%s: %s", m.Code, m.Message)
		case *pgproto3.ReadyForQuery:
			return g
		}
	}
}

func (g *greeted) receive(t *testing.T) pgproto3.BackendMessage {
	t.Helper()
	m, err := g.frontend.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// cancelled begins a query of a minute, cancels it until it ends, and returns the
// SQLSTATE that it ends with. A cancel that comes before the query does nothing.
func (g *greeted) cancelled(t *testing.T, address string) string {
	t.Helper()
	g.frontend.Send(&pgproto3.Query{String: "select pg_sleep(60)"})
	if err := g.frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		for {
			switch m, err := g.frontend.Receive(); m := m.(type) {
			case *pgproto3.ErrorResponse:
				ended <- m.Code
				return
			default:
				if err != nil {
					ended <- err.Error()
					return
				}
			}
		}
	}()
	for late := time.After(30 * time.Second); ; {
		g.cancel(t, address)
		select {
		case code := <-ended:
			return code
		case <-late:
			return "nothing"
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// cancel returns when the other side has acted and closed.
func (g *greeted) cancel(t *testing.T, address string) {
	t.Helper()
	conn := dial(t, address)
	defer conn.Close()
	packet, err := (&pgproto3.CancelRequest{ProcessID: g.key.ProcessID, SecretKey: g.key.SecretKey}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(packet); err != nil {
		t.Fatal(err)
	}
	if n, _ := conn.Read(make([]byte, 1)); n != 0 {
		t.Error("a cancel is answered")
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}
