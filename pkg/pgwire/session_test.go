package pgwire_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// session is one that a recorder relays.
type session struct {
	client  net.Conn
	tracker pgwire.Tracker
	mu      sync.Mutex
	asked   []byte // all that the client sent after its startup packet
	said    []byte // all that the backend sent
	atEnd   string // what the tracker said when the client said goodbye
	done    chan struct{}
	once    sync.Once
}

func (s *session) finished() chan struct{} {
	s.once.Do(func() { s.done = make(chan struct{}) })
	return s.done
}

func (s *session) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.finished():
	case <-time.After(timeout):
		t.Fatal("a session does not end")
	}
}

// serve relays one session to its end, or one cancel request.
func (s *session) serve(dir string) error {
	defer close(s.finished())
	defer s.client.Close()
	packet, err := pgwire.Read(s.client)
	if errors.Is(err, io.EOF) {
		return nil // a client that looks whether somebody listens
	}
	if err != nil {
		return err
	}
	raw, err := packet.Append(nil)
	if err != nil {
		return err
	}
	backend, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		return err
	}
	defer backend.Close()
	if _, err := backend.Write(raw); err != nil {
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer backend.(*net.UnixConn).CloseWrite()
		pump(backend, s.client, s.fromClient)
	})
	pump(s.client, backend, s.fromBackend)
	_ = s.client.Close()
	wg.Wait()
	return nil
}

// pump copies until either end is closed.
func pump(to io.Writer, from io.Reader, see func([]byte)) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		see(buffer[:n])
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (s *session) fromClient(chunk []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, chunk...)
	if s.atEnd == "" && bytes.HasPrefix(chunk, []byte{'X', 0, 0, 0, 4}) {
		s.atEnd = say(&s.tracker)
	}
	_ = s.tracker.Frontend(chunk)
}

func (s *session) fromBackend(chunk []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, chunk...)
	s.tracker.Backend(chunk)
}

// compare feeds a tracker what the backend said message by message, and holds it against
// pgproto3's reading of each.
func (s *session) compare(t *testing.T) (messages int) {
	t.Helper()
	var tracker pgwire.Tracker
	_ = tracker.Frontend(s.asked)
	stream := bytes.NewReader(s.said)
	reader := pgproto3.NewFrontend(stream, io.Discard)
	for rest := s.said; len(rest) > 0; messages++ {
		m, err := reader.Receive()
		if err != nil {
			t.Fatalf("message %d: %v", messages, err)
		}
		size := messageLength(rest)
		tracker.Backend(rest[:size-1])
		before := tracker.Status()
		tracker.Backend(rest[size-1 : size])
		rest = rest[size:]
		compareMessage(t, &tracker, m, before)
	}
	return messages
}

func messageLength(raw []byte) int {
	return 1 + int(raw[1])<<24 + int(raw[2])<<16 + int(raw[3])<<8 + int(raw[4])
}

func compareMessage(t *testing.T, tracker *pgwire.Tracker, m pgproto3.BackendMessage, before byte) {
	t.Helper()
	status, login := tracker.Status(), tracker.Login()
	ok := status == before
	switch m := m.(type) {
	case *pgproto3.ReadyForQuery:
		ok = status == m.TxStatus && tracker.Copy() == pgwire.NoCopy
	case *pgproto3.BackendKeyData:
		ok = login.Key == pgwire.Key{PID: m.ProcessID, Secret: string(m.SecretKey)}
	case *pgproto3.ErrorResponse:
		ok = tracker.LastError() == pgwire.ServerError{Severity: pgwire.Severity(m.SeverityUnlocalized), SQLSTATE: m.Code}
	case *pgproto3.AuthenticationSASL:
		ok = login.Asked(pgwire.AuthSASL) && len(login.Mechanisms) == len(m.AuthMechanisms)
	case *pgproto3.AuthenticationMD5Password:
		ok = login.Asked(pgwire.AuthMD5)
	case *pgproto3.AuthenticationOk:
		ok = login.Asked(pgwire.AuthOk)
	case *pgproto3.CopyInResponse:
		ok = tracker.Copy() == pgwire.CopyIn
	case *pgproto3.CopyOutResponse:
		ok = tracker.Copy() == pgwire.CopyOut
	case *pgproto3.CopyBothResponse:
		ok = tracker.Copy() == pgwire.CopyBoth
	}
	if !ok {
		t.Errorf("after %#v tracker says %+v", m, beliefOf(tracker))
	}
}
