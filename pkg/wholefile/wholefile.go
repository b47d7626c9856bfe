// Package wholefile reads and replaces a file as a whole: whoever reads it meanwhile, or
// after a crash, finds the earlier content or the new one, and never a part. Replacing
// blocks until the content is on the disk.
package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Replace makes content that of the file at path, which only its owner can read
// (mode 0600). The folder must be there. Errors are those of package os, and leave the
// earlier file as it was.
func Replace(path string, content []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// Write is Replace for content that is written piece by piece. An error of write
// leaves the earlier file as it was, and is returned.
func Write(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing left to remove
	err = write(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	folder, err := os.Open(dir) // before the rename: after it nothing may fail
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	// Without this a crash of the machine may bring back the earlier file, and lose what
	// was appended to the new one. Where it fails the new file is in place all the same.
	_ = folder.Sync()
	return nil
}
