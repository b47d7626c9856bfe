// Package wholefile replaces a file as a whole: whoever reads it meanwhile, or after
// a crash, finds the earlier content or the new one, and never a part. It blocks until
// the content is on the disk.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace makes content that of the file at path, which only its owner can read
// (mode 0600). The folder must be there. Errors are those of package os, and leave the
// earlier file as it was.
func Replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing left to remove
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
