package wholefile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	full, pipe := filepath.Join(dir, "full"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(full, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(full, 5); err != nil || string(got) != "12345" {
		t.Errorf("got %q, %v", got, err)
	}
	for path, want := range map[string]string{
		full: "longer than 4 bytes", pipe: "want a regular file, it is p", dir: "want a regular file, it is d",
		filepath.Join(dir, "none"): "no such file",
	} {
		if got, err := Read(path, 4); got != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v; want %s", path, got, err, want)
		}
	}
}
