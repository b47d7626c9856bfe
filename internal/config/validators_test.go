package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// loadValidators loads a file of validators beside the programs check, which can be
// run, and text, which cannot.
func loadValidators(t *testing.T, text string) (dir string, _ Loaded, _ error) {
	t.Helper()
	dir = t.TempDir()
	for name, mode := range map[string]os.FileMode{"check": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "validators.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := load(t, "", nil, map[string][]string{"validators": {path}})
	return dir, got, err
}

func TestValidators(t *testing.T) {
	dir, got, err := loadValidators(t, `
- name: naming
  command: [./check, --strict, "a b"]
- {name: keys, command: [check], timeout: 300ms, types: [Secret, ClusterLoadAssignment], secrets: true, whenUnavailable: accept}
- {name: socket, address: "unix:///run/judge.sock", types: [Secret]}
- {name: port, address: "127.0.0.1:9000", types: [Secret]}
`)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "check")
	want := []Validator{
		{
			Name: "naming", Command: []string{program, "--strict", "a b"}, Timeout: 5 * time.Second, Required: true,
			Types: []xdsserve.Type{xdsserve.Secret, xdsserve.Cluster, xdsserve.Routes, xdsserve.Scopes, xdsserve.Listener},
		},
		{
			Name: "keys", Command: []string{program}, Timeout: 300 * time.Millisecond, Secrets: true,
			Types: []xdsserve.Type{xdsserve.Secret, xdsserve.Endpoints},
		},
		{Name: "socket", Address: "unix:///run/judge.sock", Timeout: 5 * time.Second, Required: true, Types: []xdsserve.Type{xdsserve.Secret}},
		{Name: "port", Address: "127.0.0.1:9000", Timeout: 5 * time.Second, Required: true, Types: []xdsserve.Type{xdsserve.Secret}},
	}
	if diff := cmp.Diff(want, got.Run.Validators); diff != "" {
		t.Errorf("validators (-want +got):\n%s", diff)
	}
}

// TestErrorsOfValidators: each is told in one line with its place, field, value and remedy.
func TestErrorsOfValidators(t *testing.T) {
	const good = "- {name: a, command: [./check]}\n"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", `FILE: names no validator; list them`},
		{"not YAML", "- [a\n", `FILE: is not YAML: `},
		{"two documents", good + "---\n" + good, `FILE: has more than one document; keep`},
		{"no list", "name: a\n", `FILE:1: must be a list of validators, for example`},
		{"many", strings.Repeat(good, 17), `FILE:1: "17" validators are more than 16; let one program check more`},
		{"no mapping", "- ./check\n", `FILE:1: [0] "./check" must be a mapping with a name and a command`},
		{"same name", good + good, `FILE:2: [1].name "a" is also the name of the validator in line 1; give each its own`},
		{"no name", "- command: [./check]\n", `FILE:1: [0].name is missing; every validator has a name and a command`},
		{"no command", "- name: a\n", `FILE:1: [0].command is missing; every validator has a name and a command, or an address`},
		{"command and address", "- {name: a, command: [./check], address: 'unix:///run/a.sock'}\n", `FILE:1: [0].address "unix:///run/a.sock" is set beside command; keep one of them`},
		{"address elsewhere", "- {name: a, address: '192.0.2.1:80'}\n", `FILE:1: [0].address "192.0.2.1:80" must be a gRPC service on this machine`},
		{"address of no path", "- {name: a, address: 'unix://a.sock'}\n", `FILE:1: [0].address "unix://a.sock" must be a gRPC service`},
		{"path as name", "- {name: ../a, command: [./check]}\n", `FILE:1: [0].name "../a" must be a name of small letters`},
		{"twice", "- name: a\n  name: b\n  command: [./check]\n", `FILE:2: [0].name is already set in line 1; keep one of them`},
		{"misspelt field", "- {name: a, comand: [./check], command: [./check]}\n", `FILE:1: [0].comand is no field of a validator; did you mean "command"?`},
		{"unknown field", "- {name: a, env: x, command: [./check]}\n", `FILE:1: [0].env is no field of a validator; the fields are name, command, address, timeout`},
		{"command for a shell", "- {name: a, command: ./check --strict}\n", `FILE:1: [0].command "./check --strict" must be a list of a program's path and its arguments`},
		{"empty command", "- {name: a, command: []}\n", `FILE:1: [0].command must be a list of a program's path`},
		{"nested command", "- {name: a, command: [[./check]]}\n", `FILE:1: [0].command must be a list of a program's path`},
		{"missing program", "- {name: a, command: [/nowhere/check]}\n", `FILE:1: [0].command "/nowhere/check" does not exist; give the path of a program`},
		{"directory", "- {name: a, command: [.]}\n", `is no regular file; give the path of a program`},
		{"not executable", "- {name: a, command: [text]}\n", `is not executable; run chmod +x on it`},
		{"long timeout", "- {name: a, command: [./check], timeout: 1m}\n", `FILE:1: [0].timeout "1m" must be a duration from 10ms to 30s`},
		{"no timeout", "- {name: a, command: [./check], timeout: 0}\n", `FILE:1: [0].timeout "0" must be a duration from 10ms to 30s`},
		{"unknown type", "- {name: a, command: [./check], types: [Routes]}\n", `FILE:1: [0].types "Routes" must be a list of resource types: Secret, Cluster,`},
		{"no types", "- {name: a, command: [./check], types: []}\n", `FILE:1: [0].types must be a list of resource types`},
		{"type twice", "- {name: a, command: [./check], types: [Secret, Secret]}\n", `FILE:1: [0].types "Secret" must be a list of resource types: `},
		{"secrets", "- {name: a, command: [./check], secrets: perhaps}\n", `FILE:1: [0].secrets "perhaps" must be true or false`},
		{"when unavailable", "- {name: a, command: [./check], whenUnavailable: refuse}\n", `FILE:1: [0].whenUnavailable "refuse" must be wait, so that`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, got, err := loadValidators(t, test.text)
			if err == nil {
				t.Fatalf("loaded %+v", got.Run.Validators)
			}
			line := err.Error()
			if i := strings.Index(line, "validators.yaml"); i > 0 {
				line = "FILE" + line[i+len("validators.yaml"):]
			}
			if !strings.Contains(line, test.want) || strings.Contains(line, "\n") {
				t.Errorf("got  %s\nwant %s", line, test.want)
			}
		})
	}
}

func TestAllErrorsOfValidatorsAtOnce(t *testing.T) {
	_, _, err := loadValidators(t, "- {name: A, command: [text]}\n- {timeout: x}\n")
	if n := len(strings.Split(err.Error(), "\n")); n != 5 {
		t.Errorf("%d lines, want 5:\n%v", n, err)
	}
}

func TestFileOfValidatorsThatIsNone(t *testing.T) {
	_, err := load(t, "validators: none.yaml\n", nil, nil)
	if err == nil || !strings.Contains(err.Error(), `gatehouse.yaml:1: validators "`) || !strings.Contains(err.Error(), "cannot be read: no such file") {
		t.Errorf("error %v", err)
	}
}
