package arch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	xmodule "golang.org/x/mod/module"
)

// TestPaths: a module with a path that Go, Windows or a shell cannot take cannot be
// published, and an empty file is what a test or a slip of the shell left behind.
func TestPaths(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name {
			case ".git", "bin", ".cache":
				return filepath.SkipDir
			}
			return nil
		}
		if err := xmodule.CheckFilePath(filepath.ToSlash(name)); err != nil {
			t.Error(err)
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // another test's, gone by now
		}
		if err == nil && info.Size() == 0 {
			t.Errorf("%s is empty", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
