// Pgx plays the cases of the client suite with pgx.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// player holds the session that most cases are played in.
type player struct {
	*pgx.Conn
	settings string
}

func run(ctx context.Context, args []string) error {
	p := player{settings: fmt.Sprintf("host=%s port=%s user='%s' password='%s' sslmode=disable", args[0], args[1], args[2], args[3])}
	if ca := args[4]; ca != "" {
		p.settings += " sslmode=verify-full sslrootcert=" + ca
	}
	var err error
	if p.Conn, err = pgx.Connect(ctx, p.settings); err != nil {
		return err
	}
	defer p.Close(ctx)
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
		{"copy out", p.copyOut},
		{"restart", p.restart},
	} {
		value, err := c.play(ctx)
		say(c.name, value, err)
	}
	return nil
}

func say(name, value string, err error) {
	line := map[string]string{"case": name, "value": value}
	if err != nil {
		line = map[string]string{"case": name, "error": err.Error()}
		if e, ok := errors.AsType[*pgconn.PgError](err); ok {
			line["sqlstate"], line["error"] = e.Code, e.Message
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

func (p player) value(ctx context.Context, sql string, args ...any) (value string, err error) {
	err = p.QueryRow(ctx, sql, args...).Scan(&value)
	return value, err
}

func (p player) login(ctx context.Context) (string, error) {
	return p.value(ctx, "select current_user || '|' || current_database()")
}

func (p player) password(ctx context.Context) (string, error) {
	_, err := pgx.Connect(ctx, p.settings+" password=wrong")
	return "it is let in", err
}

// cancel repeats: a cancel that overtakes its query is in vain.
func (p player) cancel(ctx context.Context) (string, error) {
	answered := make(chan error, 1)
	go func() { _, err := p.Exec(ctx, "select pg_sleep(60)"); answered <- err }()
	for {
		select {
		case err := <-answered:
			return "it is not cancelled", err
		case <-time.After(300 * time.Millisecond):
			if err := p.PgConn().CancelRequest(ctx); err != nil {
				return "", err
			}
		}
	}
}

func (p player) parameter(ctx context.Context) (string, error) {
	return p.value(ctx, "select length($1)::text", strings.Repeat("x", 1<<20))
}

func (p player) result(ctx context.Context) (string, error) {
	rows, err := p.Query(ctx, "select repeat('x', 65536) from generate_series(1, 1024)")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	total := 0
	for rows.Next() {
		total += len(rows.RawValues()[0])
	}
	return fmt.Sprint(total), rows.Err()
}

func (p player) notify(ctx context.Context) (string, error) {
	listener, err := pgx.Connect(ctx, p.settings)
	if err != nil {
		return "", err
	}
	defer listener.Close(ctx)
	if _, err := listener.Exec(ctx, "listen news"); err != nil {
		return "", err
	}
	if _, err := p.Exec(ctx, "select pg_sleep(1); notify news, 'hello'"); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	news, err := listener.WaitForNotification(ctx)
	if err != nil {
		return "", err
	}
	return news.Payload, nil
}

func (p player) prepared(ctx context.Context) (string, error) {
	if _, err := p.Prepare(ctx, "next", "select ($1::int + 1)::text"); err != nil {
		return "", err
	}
	one, err := p.value(ctx, "next", 41)
	if err != nil {
		return "", err
	}
	two, err := p.value(ctx, "next", 42)
	return one + "," + two, err
}

func (p player) copyIn(ctx context.Context) (string, error) {
	if _, err := p.Exec(ctx, "create temp table copied (n int)"); err != nil {
		return "", err
	}
	next := pgx.CopyFromSlice(10_000, func(n int) ([]any, error) { return []any{n}, nil })
	if _, err := p.CopyFrom(ctx, pgx.Identifier{"copied"}, []string{"n"}, next); err != nil {
		return "", err
	}
	return p.value(ctx, "select count(*)::text from copied")
}

func (p player) copyOut(ctx context.Context) (string, error) {
	var out bytes.Buffer
	_, err := p.PgConn().CopyTo(ctx, &out, "copy copied to stdout")
	return fmt.Sprint(bytes.Count(out.Bytes(), []byte("\n"))), err
}

func (p player) restart(ctx context.Context) (string, error) {
	say("waiting", "", nil)
	_, err := p.Exec(ctx, "select pg_sleep(60)")
	return "it goes on", err
}
