// Lib-pq plays the cases of the client suite with lib/pq.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lib/pq"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// player holds the session that most cases are played in.
type player struct {
	*sql.Conn
	settings string
}

func run(ctx context.Context, args []string) error {
	p := player{settings: fmt.Sprintf("host=%s port=%s user='%s' password='%s'", args[0], args[1], args[2], args[3])}
	if ca := args[4]; ca != "" {
		p.settings += " sslmode=verify-full sslrootcert=" + ca
	} else {
		p.settings += " sslmode=disable"
	}
	var err error
	if p.Conn, err = connect(ctx, p.settings); err != nil {
		return err
	}
	defer p.Close()
	for _, c := range []struct {
		name string
		play func(context.Context) (string, error)
	}{
		{"login", p.login},
		{"password", p.password},
		{"cancel", p.cancel},
		{"parameter", p.parameter},
		{"result", p.result},
		{"notify", p.notify},
		{"prepared", p.prepared},
		{"copy in", p.copyIn},
		{"restart", p.restart},
	} {
		value, err := c.play(ctx)
		say(c.name, value, err)
	}
	return nil
}

func connect(ctx context.Context, settings string) (*sql.Conn, error) {
	db, err := sql.Open("postgres", settings)
	if err != nil {
		return nil, err
	}
	return db.Conn(ctx)
}

func say(name, value string, err error) {
	line := map[string]string{"case": name, "value": value}
	if err != nil {
		line = map[string]string{"case": name, "error": err.Error()}
		if e, ok := errors.AsType[*pq.Error](err); ok {
			line["sqlstate"], line["error"] = string(e.Code), e.Message
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

func (p player) value(ctx context.Context, text string, args ...any) (value string, err error) {
	err = p.QueryRowContext(ctx, text, args...).Scan(&value)
	return value, err
}

func (p player) login(ctx context.Context) (string, error) {
	return p.value(ctx, "select current_user || '|' || current_database()")
}

func (p player) password(ctx context.Context) (string, error) {
	_, err := connect(ctx, p.settings+" password=wrong")
	return "it is let in", err
}

// cancel is sent when the context of the query ends, on a session of its own, which
// the driver closes then.
func (p player) cancel(ctx context.Context) (string, error) {
	conn, err := connect(ctx, p.settings)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	_, err = conn.ExecContext(ctx, "select pg_sleep(60)")
	return "it is not cancelled", err
}

func (p player) parameter(ctx context.Context) (string, error) {
	return p.value(ctx, "select length($1)::text", strings.Repeat("x", 1<<20))
}

func (p player) result(ctx context.Context) (string, error) {
	rows, err := p.QueryContext(ctx, "select repeat('x', 65536) from generate_series(1, 1024)")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	total := 0
	for rows.Next() {
		var row sql.RawBytes
		if err := rows.Scan(&row); err != nil {
			return "", err
		}
		total += len(row)
	}
	return fmt.Sprint(total), rows.Err()
}

func (p player) notify(ctx context.Context) (string, error) {
	listener := pq.NewListener(p.settings, time.Second, time.Second, nil)
	defer listener.Close()
	if err := listener.Listen("news"); err != nil {
		return "", err
	}
	if _, err := p.ExecContext(ctx, "select pg_sleep(1); notify news, 'hello'"); err != nil {
		return "", err
	}
	select {
	case news := <-listener.Notify:
		return news.Extra, nil
	case <-time.After(20 * time.Second):
		return "nothing is heard", nil
	}
}

func (p player) prepared(ctx context.Context) (string, error) {
	statement, err := p.PrepareContext(ctx, "select $1::int + 1")
	if err != nil {
		return "", err
	}
	defer statement.Close()
	var one, two string
	err = errors.Join(statement.QueryRowContext(ctx, 41).Scan(&one), statement.QueryRowContext(ctx, 42).Scan(&two))
	return one + "," + two, err
}

// copyIn is the one direction that the driver has.
func (p player) copyIn(ctx context.Context) (string, error) {
	if _, err := p.ExecContext(ctx, "create temp table copied (n int)"); err != nil {
		return "", err
	}
	tx, err := p.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	copying, err := tx.PrepareContext(ctx, "copy copied (n) from stdin")
	if err != nil {
		return "", err
	}
	for n := range 10_000 {
		if _, err := copying.ExecContext(ctx, n); err != nil {
			return "", err
		}
	}
	if _, err := copying.ExecContext(ctx); err != nil {
		return "", err
	}
	if err := errors.Join(copying.Close(), tx.Commit()); err != nil {
		return "", err
	}
	return p.value(ctx, "select count(*)::text from copied")
}

func (p player) restart(ctx context.Context) (string, error) {
	say("waiting", "", nil)
	_, err := p.ExecContext(ctx, "select pg_sleep(60)")
	return "it goes on", err
}
