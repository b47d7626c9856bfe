package orphan

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestOrphansAreFoundAndEnded(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	// The shell ends at once; its child is ours then.
	if err := exec.CommandContext(t.Context(), "sh", "-c", "sleep 300 >/dev/null 2>&1 &").Run(); err != nil {
		t.Fatal(err)
	}
	left := End(200 * time.Millisecond)
	if len(left) != 1 || !strings.Contains(left[0], "sleep 300") {
		t.Errorf("left behind: %q, want the sleeping child", left)
	}
	if again := End(time.Second); again != nil {
		t.Errorf("still there: %q", again)
	}
}
