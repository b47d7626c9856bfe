package tlsstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

const (
	// again is how often files are read without an event: directories can be replaced,
	// file systems can have no events, and time makes certificates expire.
	again = time.Minute
	// attempts is how often a pair that cannot be served is read while writers are busy.
	attempts = 5
	// maxFile is more than any chain or key in use has, in bytes.
	maxFile = 1 << 20
)

// files are two files in PEM: a chain, leaf first, and its key.
type files struct {
	cert, key string
	again     time.Duration // how often they are read without an event
}

// Files returns a Store with the pair in two PEM files: a certificate chain, leaf first,
// and its private key; both may be links, and one file may hold both. Run watches their
// directories, so that files can be written, renamed into place, or swapped together by
// the link of a directory, as Kubernetes does. The error names the file that could not be
// read, or both with a *tlsutil.PairError when they cannot be served.
func Files(cert, key string, o Options) (*Store, error) {
	f := files{cert: cert, key: key, again: again}
	pair, err := f.read()
	if err != nil {
		return nil, err
	}
	s, err := newStore(f, o, pair)
	if err != nil {
		return nil, f.describe(err)
	}
	s.Warn()
	return s, nil
}

func (f files) Name() string { return f.cert }

func (f files) Origin() slog.Attr { return slog.Any(observe.KeyFiles, []string{f.cert, f.key}) }

func (f files) describe(err error) error {
	return fmt.Errorf("TLS certificate %s and key %s: %w", f.cert, f.key, err)
}

// read returns what is in the files now.
func (f files) read() (pair tlsutil.Pair, err error) {
	if pair.Cert, err = wholefile.Read(f.cert, maxFile); err != nil {
		return tlsutil.Pair{}, fmt.Errorf("TLS certificate: %w", err)
	}
	if pair.Key, err = wholefile.Read(f.key, maxFile); err != nil {
		return tlsutil.Pair{}, fmt.Errorf("TLS key: %w", err)
	}
	return pair, nil
}

// Run reads the files when something has happened in their directories, and every minute.
func (f files) Run(ctx context.Context, s *Store) {
	w := f.watch(s)
	defer w.close()
	minute := time.NewTicker(f.again)
	defer minute.Stop()
	for ctx.Err() == nil {
		w.add()
		f.load(ctx, s, w)
		s.Warn()
		w.wait(ctx, minute.C)
	}
}

// load serves what is in the files once they are quiet. That it cannot be served is
// believed if nothing happens for a moment more: a writer may be between two files.
func (f files) load(ctx context.Context, s *Store, w *watcher) {
	for range attempts {
		w.settle(ctx)
		pair, err := f.read()
		if err == nil {
			err = s.Serve(pair)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		if !w.wait(ctx, time.After(quiet)) {
			s.Refuse(err)
			return
		}
	}
}
