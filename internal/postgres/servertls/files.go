package servertls

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// maxFile is more than any bundle of authorities has, in bytes.
const maxFile = 4 << 20

// young is the age up to which a file may change again without another time of change:
// clocks of file systems have steps.
const young = 2 * time.Second

// followed is what some files mean. It is made again once one of them is another.
type followed[T any] struct {
	log   *slog.Logger
	make  func(contents [][]byte) (T, error)
	paths []string

	mu      sync.Mutex
	seen    []stamp
	value   T
	refused string // why what is in the files now is not value
}

// stamp tells one state of a file from another.
type stamp struct {
	device, inode uint64
	size          int64
	changed       time.Time
}

// follow reads files for the first time.
func follow[T any](log *slog.Logger, from func([][]byte) (T, error), paths ...string) (*followed[T], error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &followed[T]{log: log, make: from, paths: paths}
	seen, err := f.stamps()
	if err == nil {
		f.seen = seen
		f.value, err = f.read()
	}
	if err != nil {
		return nil, fmt.Errorf("TLS to servers: %w", err)
	}
	return f, nil
}

// now returns what the files mean; what they meant before, if they cannot be used.
func (f *followed[T]) now() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen, err := f.stamps()
	if err == nil && slices.Equal(seen, f.seen) {
		return f.value
	}
	value := f.value
	if err == nil {
		f.seen = seen
		value, err = f.read()
	}
	if err != nil {
		f.refuse(err)
		return f.value
	}
	f.value, f.refused = value, ""
	return value
}

// refuse says why the files cannot be used, once until that changes.
func (f *followed[T]) refuse(err error) {
	if f.refused != err.Error() {
		f.refused = err.Error()
		f.log.Error("TLS to servers: files refused, what they held before stays", observe.KeyFiles, f.paths, observe.KeyError, err)
	}
}

// stamps asks for the state of all files. A file that is young has a state that no other
// has, so that it is read again.
func (f *followed[T]) stamps() ([]stamp, error) {
	stamps := make([]stamp, len(f.paths))
	for i, path := range f.paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		stamps[i] = stampOf(info)
	}
	return stamps, nil
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), changed: info.ModTime()}
	if unix, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode = uint64(unix.Dev), unix.Ino //nolint:unconvert // not 64 bits everywhere
	}
	if age := time.Since(s.changed); age < young {
		s.size = -1 - int64(age)
	}
	return s
}

func (f *followed[T]) read() (T, error) {
	contents := make([][]byte, len(f.paths))
	for i, path := range f.paths {
		var err error
		if contents[i], err = wholefile.Read(path, maxFile); err != nil {
			var none T
			return none, err
		}
	}
	value, err := f.make(contents)
	if err != nil {
		err = fmt.Errorf("%q: %w", f.paths, err)
	}
	return value, err
}

// authorities are those of a bundle in PEM, every one of which must be whole.
func authorities(contents [][]byte) (*x509.CertPool, error) {
	if _, err := tlsutil.Inspect(contents[0]); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(contents[0])
	return pool, nil
}

// certificate is a chain and its key.
func certificate(contents [][]byte) (*tls.Certificate, error) {
	pair := tlsutil.Pair{Cert: contents[0], Key: contents[1]}
	if err := tlsutil.CheckPair(pair.Cert, pair.Key); err != nil {
		return nil, err
	}
	c, err := pair.TLS()
	return &c, err
}
