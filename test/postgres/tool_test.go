package postgres_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// toolTime bounds one run of a tool.
const toolTime = 2 * time.Minute

// tool runs a program of PostgreSQL to its end, and returns what it prints.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), toolTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, pgtest.Program(t, pgtest.Installed, name), args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// sql runs statements and returns what they print, without a line's end.
func sql(t *testing.T, dsn, text string) string {
	t.Helper()
	return strings.TrimSpace(tool(t, "psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-c", text, dsn))
}

// eventually waits until something is as wanted.
func eventually(t *testing.T, want string, get func() string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.Now().Add(60 * time.Second)
	for got := get(); got != want; got = get() {
		if time.Now().After(late) {
			t.Fatalf("it is %q, want %q", got, want)
		}
		<-tick.C
	}
}
