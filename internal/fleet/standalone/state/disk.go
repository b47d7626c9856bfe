package state

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// disk is what is done to files. Each call is over or not begun after a crash, but for
// a file with a name that begins with a dot, which Replace may leave.
type disk interface {
	Replace(path string, content []byte) error
	Remove(path string) error
}

// realDisk waits for the disk.
type realDisk struct{}

func (realDisk) Replace(path string, content []byte) error { return wholefile.Replace(path, content) }

// Remove may be undone by a crash of the machine: the record then says that its Proxy
// is being deleted, and that happens again.
func (realDisk) Remove(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil // it is removed all the same
	}
	defer folder.Close()
	_ = folder.Sync()
	return nil
}

// clean removes what a crash has left of files that were being written.
func clean(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Type().IsRegular() {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}
