package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// problem is why a path cannot be read.
type problem struct {
	reason  verdict.Reason
	message string
	absent  bool // there is nothing at the path
	keeps   bool // objects of the path stay in force although it holds none
}

// reading is what came of reading one file: exactly one of content, gone, busy
// and problem is meant.
type reading struct {
	content     []byte
	gone        bool // there is no such file
	busy        bool // somebody has it open for writing
	problem     *problem
	fingerprint fingerprint
}

// read reads a regular file, inside the root that it belongs to; roots are clean paths. It never blocks
// on special files. With finished it reports a file that is open for writing as
// busy instead.
func read(roots []string, path string, finished bool) reading {
	f, err := open(roots, path)
	if errors.Is(err, fs.ErrNotExist) {
		return reading{gone: true}
	}
	if err != nil {
		return failed(unreadable(err))
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return failed(unreadable(err))
	case !info.Mode().IsRegular():
		return failed(notRegular(info.Mode()))
	case info.Size() > schema.MaxFileBytes:
		return failed(tooLarge(info.Size()))
	}
	content, err := io.ReadAll(io.LimitReader(f, schema.MaxFileBytes+1))
	switch {
	case err != nil:
		return failed(unreadable(err))
	case len(content) > schema.MaxFileBytes:
		return failed(tooLarge(int64(len(content))))
	case finished && beingWritten(f):
		return reading{busy: true}
	}
	return reading{content: content, fingerprint: fingerprintOf(info)}
}

func failed(p problem) reading { return reading{problem: &p} }

// open opens a file under a directory root through os.Root, so that no link
// leads out of what the user named; a path that is itself a root is opened as is.
func open(roots []string, path string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK // a FIFO must not block
	if slices.Contains(roots, path) {
		return os.OpenFile(path, flags, 0)
	}
	for _, root := range roots {
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue
		}
		dir, err := os.OpenRoot(root)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return dir.OpenFile(rel, flags, 0)
	}
	return nil, fs.ErrNotExist
}

func unreadable(err error) problem {
	cause, remedy := err.Error(), "make it readable"
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		cause = e.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cause, remedy = "does not exist", "create it, it is read as soon as it is there"
	case errors.Is(err, fs.ErrPermission):
		remedy = "let the user that runs Gatehouse read it"
	case strings.Contains(cause, "escapes"):
		cause, remedy = "the link leads out of the directory", "copy the file, or name its target with --config"
	case errors.Is(err, syscall.ELOOP):
		cause, remedy = "the link leads to itself", "remove it"
	}
	return problem{reason: FileUnreadable, message: cause + "; " + remedy, absent: errors.Is(err, fs.ErrNotExist)}
}

func notRegular(mode fs.FileMode) problem {
	what := "no regular file"
	switch {
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return problem{reason: FileUnreadable, message: what + " is not read; put a regular file in its place, or remove it"}
}

func tooLarge(size int64) problem {
	return problem{reason: schema.LimitExceeded, message: fmt.Sprintf("%d bytes: files of at most %d bytes are read; split it", size, schema.MaxFileBytes)}
}
