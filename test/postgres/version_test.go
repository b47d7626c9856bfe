package postgres_test

import (
	"os/exec"
	"strings"
	"testing"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

func TestVersions(t *testing.T) {
	for version, want := range map[pgtest.Version]string{pgtest.Installed: "15.", pgtest.V17: "17.", pgtest.V18: "18."} {
		t.Run(want, func(t *testing.T) {
			server := pgtest.Start(t, pgtest.Options{Version: version})
			cmd := exec.CommandContext(t.Context(), pgtest.Program(t, version, "psql"), pgtest.DSN(server.Address, "postgres", ""), "-Atc", "show server_version")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), want) {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
	out, err := pgtest.Psycopg(t.Context(), t, "import psycopg; print(psycopg.pq.version())").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "18") {
		t.Errorf("psycopg has libpq %q, %v", out, err)
	}
}
