package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/journal"
)

// mount puts a small file system in memory at a new directory.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a small tmpfs (the tests run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// TestFullDisk: what does not fit is an error, what was there stays, and appending
// goes on once there is room.
func TestFullDisk(t *testing.T) {
	dir := mount(t, "64k")
	path := filepath.Join(dir, "journal")
	j := started(t, path)
	if err := j.Append(set("a", "1")); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 40<<10), 0o600); err != nil {
		t.Fatal(err)
	}

	err := j.Append(set("b", strings.Repeat("x", 60<<10)))

	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want that the disk is full", err)
	}
	check(t, j, path, map[string]string{"a": "1"})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(set("b", "2")); err != nil {
		t.Errorf("with room again: %v", err)
	}
	check(t, j, path, map[string]string{"a": "1", "b": "2"})
}

// TestReadOnlyDisk: nothing is written, and what is there is read.
func TestReadOnlyDisk(t *testing.T) {
	dir := mount(t, "64k")
	path := filepath.Join(dir, "journal")
	j := started(t, path)
	if err := j.Append(set("a", "1")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"append": j.Append(set("a", "2")), "rewrite": j.Rewrite(recordsOf(map[string]string{"a": "2"})),
	} {
		if !errors.Is(err, syscall.EROFS) && !errors.Is(err, journal.ErrUnfit) {
			t.Errorf("%s: error %v, want that it is read-only", name, err)
		}
	}
	check(t, j, path, map[string]string{"a": "1"})
}
