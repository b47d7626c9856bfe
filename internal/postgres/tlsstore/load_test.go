package tlsstore

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

func trustingClient(t *testing.T, s *Store) *tls.Config {
	t.Helper()
	return &tls.Config{RootCAs: trusting(t, s), ServerName: "localhost"}
}

// Handshakes go on while the pair is swapped again and again: each gets one pair whole.
func TestReloadUnderLoad(t *testing.T) {
	s, dir := kubernetes.open(t, Options{})
	var stop atomic.Bool
	var shaken atomic.Int64
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for !stop.Load() {
				_, serverErr, err := shake(t, s.Config(), &tls.Config{InsecureSkipVerify: true})
				if serverErr != nil || err != nil {
					t.Errorf("server: %v, client: %v", serverErr, err)
					return
				}
				shaken.Add(1)
			}
		})
	}
	for range 10 {
		pair, before := newPair(t, lifetime), shaken.Load()
		kubernetes.put(t, dir, pair)
		waitFor(t, "the new pair serves", serves(s, fingerprint(t, pair)))
		waitFor(t, "handshakes have gone on", func() bool { return shaken.Load() > before+8 || t.Failed() })
	}
	stop.Store(true)
	wait.Wait()
	if got := s.Status(); got.Loads != 11 || got.Refusals != 0 {
		t.Errorf("%d certificates, %d refusals; want 11 and none", got.Loads, got.Refusals)
	}
}

func TestASessionUnderWayStays(t *testing.T) {
	s, dir := layouts[0].open(t, Options{})
	here, there := net.Pipe()
	var wait sync.WaitGroup
	wait.Go(func() {
		defer here.Close()
		server := tls.Server(here, s.Config())
		_, _ = io.Copy(server, server) // ends when the client closes
	})
	client := tls.Client(there, trustingClient(t, s))
	say := func(word string) {
		t.Helper()
		_ = client.SetDeadline(time.Now().Add(10 * time.Second))
		answer := make([]byte, len(word))
		if _, err := io.WriteString(client, word); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, answer); err != nil || string(answer) != word {
			t.Fatalf("%q: %v", answer, err)
		}
	}
	say("before")
	pair := newPair(t, lifetime)
	layouts[0].put(t, dir, pair)
	waitFor(t, "the new pair serves", serves(s, fingerprint(t, pair)))
	say("after")
	client.Close()
	wait.Wait()
}

// libpq verifies what we made in memory, by name and by address.
func TestLibpqVerifies(t *testing.T) {
	s, _ := memoryStore(t)
	root := filepath.Join(t.TempDir(), "root.pem")
	write(t, root, pemOf(s))
	address := refuseInTLS(t, s.Config(), "it was said inside TLS")
	_, port, _ := net.SplitHostPort(address)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, "psql", "-X", "-w", "host="+host+" hostaddr=127.0.0.1 port="+port+
			" user=u sslmode=verify-full sslrootcert="+root).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "it was said inside TLS") {
			t.Errorf("%s: psql: %v\n%s", host, err, out)
		}
	}
}

// refuseInTLS listens until the test is over and tells every client, inside the TLS that
// it asked for, why it is refused.
func refuseInTLS(t *testing.T, config *tls.Config, why string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if err := refuseOne(conn, config, why); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(func() {
		listener.Close()
		wait.Wait()
	})
	return listener.Addr().String()
}

func refuseOne(conn net.Conn, config *tls.Config, why string) error {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := pgwire.Read(conn); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("S")); err != nil {
		return err
	}
	secure := tls.Server(conn, config)
	defer secure.Close()
	if _, err := pgwire.Read(secure); err != nil {
		return err
	}
	refusal := pgwire.ErrorResponse{Severity: pgwire.Fatal, SQLSTATE: "28000", Message: why}
	_, err := secure.Write(refusal.Append(nil))
	return err
}
