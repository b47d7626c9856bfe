package wholefile

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestReplace: readers meet whole contents only, and nothing is left beside the file.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<17)}
	if err := Replace(path, contents[0]); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range 50 {
			if err := Replace(path, contents[i%2]); err != nil {
				t.Error(err)
			}
		}
	})
	for range 200 {
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
			t.Errorf("read %d bytes, error %v", len(got), err)
		}
	}
	writing.Wait()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v are left, error %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

// TestReplaceWithoutFolder: an error leaves what was there.
func TestReplaceWithoutFolder(t *testing.T) {
	if err := Replace(filepath.Join(t.TempDir(), "no", "file"), nil); !os.IsNotExist(err) {
		t.Errorf("error %v, want that the folder is not there", err)
	}
}
