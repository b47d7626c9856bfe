package pgwire_test

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// testTruth has conversations with a real server that clients seldom have, and asks the
// server itself what the session is at.
func testTruth(t *testing.T, server string) {
	witness := connect(t, server, "postgres")
	for _, statement := range []string{
		"create table guarded (n int)",
		"create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$",
		"create trigger refuse before insert on guarded for each statement execute function refuse()",
	} {
		if _, err := witness.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for name, lines := range conversations(t, "postgres") {
		t.Run(name, func(t *testing.T) {
			recorder := startRecorder(t, server)
			c := talk(t, recorder)
			c.play(t, witness, lines)
			c.close(t)
			recorder.ended(t)[0].compare(t)
		})
	}
}

// talker is a client that sends what it is told.
type talker struct {
	conn    net.Conn
	front   *pgproto3.Frontend
	session *session
	pid     uint32
}

func talk(t *testing.T, r *recorder) *talker {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(r.dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	c := &talker{conn: conn, front: pgproto3.NewFrontend(conn, conn)}
	c.front.Send(&pgproto3.StartupMessage{ProtocolVersion: v30, Parameters: map[string]string{"user": "postgres"}})
	c.expect(t, 'Z')
	c.session = r.sessions[0]
	c.pid = c.session.tracker.Login().Key.PID
	return c
}

// play is that of a tracker's conversations, with a server that answers by itself: "<"
// waits for a message, "=" says what tracker and server must agree on, "?" what the
// server says where the tracker cannot know.
func (c *talker) play(t *testing.T, witness *pgx.Conn, lines string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		who, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch who {
		case ">":
			c.front.Send(frontendMessage(what))
		case "<":
			c.expect(t, what[0])
		case "=":
			if got := c.said(t); got != what {
				t.Fatalf("tracker says %q, want %q", got, what)
			}
			c.ask(t, witness, what == "idle")
		case "?":
			if got := c.said(t); got == "idle" {
				t.Fatal("tracker knows more than it can")
			}
			c.ask(t, witness, true)
		}
	}
}

// said is what the tracker says once all that was sent has been forwarded.
func (c *talker) said(t *testing.T) string {
	t.Helper()
	if err := c.front.Flush(); err != nil {
		t.Fatal(err)
	}
	return say(&c.session.tracker)
}

// ask asks the server what the session is at.
func (c *talker) ask(t *testing.T, witness *pgx.Conn, idle bool) {
	t.Helper()
	var state string
	err := witness.QueryRow(t.Context(), "select state from pg_stat_activity where pid = $1", c.pid).Scan(&state)
	if err != nil || (state == "idle") != idle {
		t.Fatalf("the server says %q, %v", state, err)
	}
}

// expect reads messages up to the first of a kind.
func (c *talker) expect(t *testing.T, kind byte) {
	t.Helper()
	if err := c.front.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := c.front.Receive()
		if err != nil {
			t.Fatalf("waiting for %q: %v", kind, err)
		}
		if raw, err := m.Encode(nil); err == nil && raw[0] == kind {
			return
		}
	}
}

func (c *talker) close(t *testing.T) {
	t.Helper()
	c.front.Send(&pgproto3.Terminate{})
	if err := c.front.Flush(); err != nil {
		t.Fatal(err)
	}
}

func frontendMessage(what string) pgproto3.FrontendMessage {
	kind, text, _ := strings.Cut(what, " ")
	switch kind {
	case "P":
		return &pgproto3.Parse{Query: text}
	case "B":
		return &pgproto3.Bind{}
	case "D":
		return &pgproto3.Describe{ObjectType: 'P'}
	case "E":
		return &pgproto3.Execute{}
	case "S":
		return &pgproto3.Sync{}
	case "H":
		return &pgproto3.Flush{}
	case "d":
		return &pgproto3.CopyData{Data: []byte(text + "\n")}
	case "c":
		return &pgproto3.CopyDone{}
	case "f":
		return &pgproto3.CopyFail{Message: "wanted"}
	default:
		return &pgproto3.Query{String: text}
	}
}

// testOptions asks a server what it makes of command lines.
func testOptions(t *testing.T, server string) {
	for _, line := range []string{
		"-c g.d=a", "-cg.d=a", "--g.d=a", `-c g.d=a\ b`, `-c g.d=\\\a`, "-ec g.d=a -c g.d=b", "-e -- ",
		`\-\c g.d\=a`, "-c\tg.d=a\n-e", "--g.d=a-b_c", "-D x -c g.d=a=b", "-c g.d=",
	} {
		config, err := pgx.ParseConfig("host=" + server + " user=postgres dbname=postgres sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		config.RuntimeParams["options"] = line
		c, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		var want *string
		err = c.QueryRow(t.Context(), "select current_setting('g.d', true)").Scan(&want)
		closeSession(c)
		if err != nil {
			t.Fatal(err)
		}
		var got *string
		for _, s := range pgwire.Settings(line) {
			got = new(s.Value)
		}
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q is %v, the server says %v", line, got, want)
		}
	}
}

// testPackets sends a server what Read takes and refuses, and expects that it takes and
// refuses the same.
func testPackets(t *testing.T, server string) {
	for name, raw := range map[string][]byte{
		// The server reads it all, and then does not know the parameter.
		"longest":       packet(v30, "user\x00postgres\x00x\x00"+strings.Repeat("a", pgwire.MaxPacket-8-18)+"\x00\x00"),
		"too long":      packet(v30, "user\x00postgres\x00x\x00"+strings.Repeat("a", pgwire.MaxPacket-8-17)+"\x00\x00"),
		"too short":     {0, 0, 0, 7, 0, 3, 0},
		"last user":     packet(v30, "user\x00nobody\x00user\x00postgres\x00\x00"),
		"newer":         packet(3<<16|9999, "user\x00postgres\x00_pq_.x\x00y\x00\x00"),
		"empty value":   packet(v30, "user\x00postgres\x00options\x00\x00\x00"),
		"no terminator": packet(v30, "user\x00postgres\x00"),
		"odd strings":   packet(v30, "user\x00postgres\x00x\x00"),
		"value cut off": packet(v30, "user\x00postgres"),
		"more behind":   packet(v30, "user\x00postgres\x00\x00\x00"),
		"protocol 2":    packet(2<<16, "user\x00postgres\x00\x00"),
		"protocol 4":    packet(4<<16, "user\x00postgres\x00\x00"),
		"TLS":           packet(ssl, ""),
		"GSSAPI":        packet(gss, ""),
	} {
		conn, err := net.Dial("unix", filepath.Join(server, ".s.PGSQL.5432"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(raw)
		first := make([]byte, 1)
		_ = conn.SetReadDeadline(time.Now().Add(timeout))
		n, _ := conn.Read(first)
		_ = conn.Close()
		_, err = pgwire.Read(bytes.NewReader(raw))
		if taken := n == 1 && (first[0] != 'E' || name == "longest"); taken != (err == nil) {
			t.Errorf("%s: the server answers %q; Read says %v", name, first[:n], err)
		}
	}
}
