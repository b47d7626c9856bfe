package forward

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// TestManual does what the manual says, with ports and a directory of its own: a block
// that ends in the proxy stays up while the block after it is tried.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../../../docs/fleet-forward.md")
	if err != nil {
		t.Fatal(err)
	}
	tg := newTarget(t)
	ran := 0
	var p *process
	for i, part := range strings.Split(string(text), "```") {
		block, isShell := strings.CutPrefix(part, "sh\n")
		if i%2 == 0 || !isShell {
			continue
		}
		ran++
		block = strings.ReplaceAll(block, "http://127.0.0.1:8000", tg.http)
		if strings.Contains(block, "\ngatehouse-forward") || strings.HasPrefix(block, "gatehouse-forward") {
			if p != nil {
				p.end()
			}
			p = serveBlock(t, block)
			continue
		}
		tryBlock(t, p, block)
	}
	if ran != 4 {
		t.Errorf("%d blocks were tried", ran)
	}
}

// serveBlock runs the preparations of a block, and its last line, which serves.
func serveBlock(t *testing.T, block string) *process {
	t.Helper()
	block = strings.NewReplacer("/etc/gatehouse-forward", filepath.Join(t.TempDir(), "auth"), ":3129", ":0", ":3128", ":0").Replace(strings.TrimSpace(block))
	lines := strings.Split(block, "\n")
	if out, err := exec.CommandContext(t.Context(), "sh", "-euc", strings.Join(lines[:len(lines)-1], "\n")).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", block, err, out)
	}
	return start(t, small(), strings.Fields(lines[len(lines)-1])[1:]...)
}

func tryBlock(t *testing.T, p *process, block string) {
	t.Helper()
	_, port, _ := strings.Cut(strings.TrimPrefix(p.address, "[::]"), ":")
	block = strings.NewReplacer("127.0.0.1:3128", "127.0.0.1:"+port, "127.0.0.1:3129", p.status).Replace(block)
	for line := range strings.Lines(strings.TrimSpace(block)) {
		r := &rig.Output{}
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", strings.Replace(line, "curl", "curl --disable --silent --show-error --max-time 60", 1))
		cmd.Stdout, cmd.Stderr, cmd.Env = r, r, []string{"PATH=" + os.Getenv("PATH")}
		if err := cmd.Run(); err != nil || r.String() != page && r.String() != "ok\n" {
			t.Errorf("%s: %v\n%s", line, err, r)
		}
	}
}
