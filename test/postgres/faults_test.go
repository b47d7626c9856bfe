package postgres_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// The faults that routers of this design are known for, one test each, with the real
// binary. Where another suite says more of one, it is named.
func TestKnownFaults(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Auth: "trust"})
	router := pgtest.Route(t, "--static-backends=orders="+server.Address).Ready(t)
	f := faults{router, server, monitor(t, server)}
	silent := f.dial(t)
	began := time.Now()
	t.Run("a connection that only opens and closes ends the process", f.portChecks) // TestChaos
	t.Run("when the server ends a session, the client is not told that it has ended", f.serverEnds)
	t.Run("when the client goes without a word, its session stays at the server", f.clientEnds)
	t.Run("a cancel does nothing", f.cancel) // TestCancelThroughAnotherReplica, the drivers
	t.Run("the length of a packet is believed", f.length)
	t.Run("a parameter called as metadata of the router routes", f.metadata)
	t.Run("a request for GSSAPI is taken for a login", f.gssapi)
	t.Run("requests for TLS nest, without end", f.nested) // TestBadPackets of internal/postgres
	t.Run("a login in an odd form is told nothing that helps", f.oddLogins)
	t.Run("an md5 password never matches, and nobody says why", f.md5)
	// A list of servers that is used before it is whole: internal/postgres/discovery/kube.
	t.Run("the certificate has no name, and the number one", f.certificate) // internal/postgres/tlsstore
	t.Run("descriptors that run out end the process", f.descriptors)
	// A SIGTERM that cuts sessions: TestRollOut, TestRouter.
	t.Run("parameters change their order, and are logged", f.parameters)
	t.Run("a silent client stays for ever", func(t *testing.T) {
		_ = silent.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
	if text := router.Log.String(); strings.Contains(text, "ended by a bug") {
		t.Errorf("a bug: %s", text)
	}
}

// faults are looked for in a router before a server, which can be asked directly.
type faults struct {
	router *pgtest.Router
	server *pgtest.Server
	direct *pgx.Conn
}

func (f faults) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.router.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	return c.(*net.TCPConn)
}

func (f faults) session(t *testing.T) *pgx.Conn {
	t.Helper()
	return session(t, pgtest.DSN(f.router.Address, "postgres.orders", "dbname=postgres"))
}

// refused sends a packet and returns what the client is told.
func (f faults) refused(t *testing.T, packet []byte) *pgproto3.ErrorResponse {
	t.Helper()
	c := f.dial(t)
	if _, err := c.Write(packet); err != nil {
		t.Fatal(err)
	}
	for answers := pgproto3.NewFrontend(c, c); ; {
		switch message, err := answers.Receive(); said := message.(type) {
		case *pgproto3.ErrorResponse:
			return said
		case *pgproto3.AuthenticationOk: // the server's errors may come after it
		default:
			t.Fatalf("got %T, %v, want an error", message, err)
		}
	}
}

func (f faults) portChecks(t *testing.T) {
	for range 20 {
		_ = f.dial(t).Close()
	}
	f.session(t)
}

func (f faults) serverEnds(t *testing.T) {
	conn := f.session(t)
	if _, err := f.direct.Exec(t.Context(), "select pg_terminate_backend($1)", conn.PgConn().PID()); err != nil {
		t.Fatal(err)
	}
	_, err := noticed(t, conn)
	if sqlstate(err) != "57P01" {
		t.Errorf("it is told %v", err)
	}
	raw := conn.PgConn().Conn()
	_ = raw.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.Copy(io.Discard, raw); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection does not end: %v", err)
	}
}

func (f faults) clientEnds(t *testing.T) {
	conn := f.session(t)
	pid := conn.PgConn().PID()
	if err := conn.PgConn().Conn().Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "gone", func() string {
		var there bool
		if err := f.direct.QueryRow(t.Context(), "select exists (select from pg_stat_activity where pid = $1)", pid).Scan(&there); err != nil {
			t.Fatal(err)
		}
		if there {
			return "there"
		}
		return "gone"
	})
}

func (f faults) cancel(t *testing.T) {
	conn := f.session(t)
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), "select pg_sleep(60)")
		failed <- err
	}()
	running(t, f.direct, 1)
	if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; sqlstate(err) != "57014" {
		t.Errorf("the query ends with %v", err)
	}
}

func (f faults) length(t *testing.T) {
	for _, length := range []uint32{0, 7, 10_005, 0x7fffffff, 0xffffffff} {
		said := f.refused(t, append(binary.BigEndian.AppendUint32(nil, length), 0, 3, 0, 0))
		if said.Code != "08P01" {
			t.Errorf("a length of %d is told %+v", length, said)
		}
	}
}

func (f faults) metadata(t *testing.T) {
	for _, name := range []string{"deployment_id", "deployment", "pooled", "username", "gatehouse.deployment"} {
		if said := f.refused(t, login("bob", name, "orders")); said.Code != "28000" {
			t.Errorf("%s alone routes: %+v", name, said)
		}
	}
	// It is the server's to refuse.
	if said := f.refused(t, login("postgres.orders", "deployment_id", "x")); said.Code != "42704" {
		t.Errorf("it is not passed on: %+v", said)
	}
}

// login is a startup packet with one more parameter.
func login(user, name, value string) []byte {
	var p pgwire.Parameters
	p.Set("user", user)
	p.Set("database", "postgres")
	p.Set(name, value)
	packet, _ := pgwire.Packet{Kind: pgwire.Startup, Version: pgwire.Version30, Parameters: p}.Append(nil)
	return packet
}

func (f faults) gssapi(t *testing.T) {
	c := f.dial(t)
	for _, code := range []uint32{askGSS, askGSS} {
		if answer := asked(t, c, code); answer != 'N' {
			t.Fatalf("the answer is %q", answer)
		}
	}
	if _, err := c.Write(startup("postgres.orders")); err != nil {
		t.Fatal(err)
	}
	if message, err := pgproto3.NewFrontend(c, c).Receive(); err != nil {
		t.Errorf("got %v, %v, want a login", message, err)
	} else if _, ok := message.(*pgproto3.AuthenticationOk); !ok {
		t.Errorf("got %+v, want a login", message)
	}
}

// asked requests encryption and returns the answer.
func asked(t *testing.T, c net.Conn, code uint32) byte {
	t.Helper()
	var answer [1]byte
	if _, err := c.Write(request(code)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		t.Fatal(err)
	}
	return answer[0]
}

// secured is a session of TLS.
func (f faults) secured(t *testing.T) *tls.Conn {
	t.Helper()
	c := f.dial(t)
	if answer := asked(t, c, askTLS); answer != 'S' {
		t.Fatalf("the answer is %q", answer)
	}
	secured := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if err := secured.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return secured
}

func (f faults) nested(t *testing.T) {
	c := f.secured(t)
	if answer := asked(t, c, askTLS); answer != 'E' {
		t.Errorf("inside of TLS the answer is %q", answer)
	}
	if rest, err := io.ReadAll(c); err != nil || !bytes.Contains(rest, []byte("08P01")) {
		t.Errorf("it goes on: %q, %v", rest, err)
	}
}

func (f faults) oddLogins(t *testing.T) {
	for user, want := range map[string]string{
		"x.pool": "28000", "pool": "28000", "orders.": "28000", ".orders": "28000", "..": "28000", "bob": "28000",
		"x.orders.POOL": "08001", "x.pool.pool": "08001", "x.ORDERS": "08001",
	} {
		said := f.refused(t, startup(user))
		if said.Code != want || said.Hint == "" || strings.Contains(said.Message, "127.0.0.1") {
			t.Errorf("%s is told %s: %s (%s), want %s", user, said.Code, said.Message, said.Hint, want)
		}
	}
}

func (f faults) md5(t *testing.T) {
	old := pgtest.Start(t, pgtest.Options{Auth: "md5"})
	router := pgtest.Route(t, "--static-backends=orders="+old.Address).Ready(t)
	out, err := exec.CommandContext(t.Context(), "psql", pgtest.DSN(router.Address, "postgres.orders", ""), "-c", "select 1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "md5") || !strings.Contains(string(out), "HINT") {
		t.Errorf("psql is told %q, %v", out, err)
	}
}

func (f faults) certificate(t *testing.T) {
	leaf := f.secured(t).ConnectionState().PeerCertificates[0]
	if _, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || len(leaf.DNSNames) == 0 || leaf.SerialNumber.BitLen() < 64 {
		t.Errorf("it has a key of %T, names %v and number %v", leaf.PublicKey, leaf.DNSNames, leaf.SerialNumber)
	}
}

// descriptors lets no more connections in than the process has descriptors for.
func (f faults) descriptors(t *testing.T) {
	router := pgtest.Route(t, "--static-backends=orders="+f.server.Address).Ready(t)
	few := unix.Rlimit{Cur: uint64(settled(t, router, 0)) + 5, Max: 4096}
	if err := unix.Prlimit(router.PID(), unix.RLIMIT_NOFILE, &few, nil); err != nil {
		t.Fatal(err)
	}
	var held []net.Conn
	for range 40 {
		held = append(held, faults{router: router}.dial(t))
	}
	eventually(t, "true", func() string {
		if strings.Contains(router.Log.String(), "no connection can be accepted") {
			return "true"
		}
		return "it says nothing of it"
	})
	for _, c := range held {
		_ = c.Close()
	}
	faults{router: router}.session(t)
}

// parameters are read by a server of the test's own.
func (f faults) parameters(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	router := pgtest.Route(t, "--debug", "--static-backends=orders="+l.Addr().String()).Ready(t)
	const rest = "\x00DateStyle\x00secret value\x00application_name\x00one\x00database\x00postgres\x00_pq_.new\x00secret value\x00application_name\x00two\x00\x00"
	packet, expect := raw("zebra\x00z\x00user\x00bob.orders"+rest), raw("zebra\x00z\x00user\x00bob"+rest)
	if _, err := (faults{router: router}).dial(t).Write(packet); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := make([]byte, len(expect))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, expect) {
		t.Errorf("the server reads %q, %v, want %q", got, err, expect)
	}
	if strings.Contains(router.Log.String(), "secret value") {
		t.Errorf("it logs a parameter: %s", router.Log)
	}
}

// raw is a startup packet of a version that does not exist yet.
func raw(parameters string) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(8+len(parameters)))
	return append(binary.BigEndian.AppendUint32(out, 3<<16|9), parameters...)
}
