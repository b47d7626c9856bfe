package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// File is a Sink that is a file, which only its owner can read. The folder must be there,
// and one process at a time use it.
type File string

var _ Sink = File("")

// Load implements Sink.
func (f File) Load(context.Context) ([]byte, error) {
	content, err := wholefile.Read(string(f), longest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// Store implements Sink.
func (f File) Store(_ context.Context, content []byte) error {
	return wholefile.Replace(string(f), content)
}

// Aside implements Sink: the file beside it ends in ".unreadable".
func (f File) Aside(context.Context, []byte) (where string, err error) {
	where = string(f) + ".unreadable"
	return where, os.Rename(string(f), where)
}

// Most implements Sink.
func (File) Most() int { return 0 }

func (f File) String() string { return string(f) }
