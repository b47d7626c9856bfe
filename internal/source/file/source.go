package file

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// Source reads the objects in files and follows their changes.
type Source struct {
	opts  Options
	roots []string // Options.Paths, clean
	index *index

	tree    *tree
	seen    map[string]fingerprint // the files of the tree, as last read
	pending map[string]due         // files to read
	lacking map[string]time.Time   // files to settle
	files   int                    // as last told
	looked  time.Time              // when paths that cannot be read were last looked at
	away    map[string]time.Time   // roots that cannot be looked into, since when
	devices map[string]uint64      // the file systems of the others
	work    []*work                // files that are being decoded, in turn
	running bool                   // after the first batch: others may wait
}

// due says when a file is to be read, and what is known then.
type due struct {
	at time.Time
	// quiet: it has rested long enough, so that an open writer does not matter.
	quiet bool
	// certain: if it is not there then, it is deleted.
	certain bool
	// together: it changed with others, which are told in the same batch.
	together bool
	// tries is how often it was found open for writing.
	tries int
}

// New returns a Source; it reads no file yet, but what an earlier run left in the
// state directory.
func New(o Options) *Source {
	o = o.withDefaults()
	s := &Source{
		opts:  o,
		index: newIndex(o.Validator, openLedger(o.StateDir, o.Log)),
		seen:  map[string]fingerprint{}, pending: map[string]due{}, lacking: map[string]time.Time{},
		away: map[string]time.Time{}, devices: map[string]uint64{},
	}
	s.index.recall = o.Recall
	for _, p := range o.Paths {
		if p = filepath.Clean(p); !slices.Contains(s.roots, p) {
			s.roots = append(s.roots, p)
		}
	}
	return s
}

// ReadOnce returns all objects and findings as they are now, without watching.
// Generations come from the state directory, which it does not change.
func ReadOnce(o Options) snapshot.Batch {
	s := New(o)
	s.index.ledger.saver = nil
	now := s.opts.Now()
	s.scan(func(string) {}, now, false)
	for path, d := range s.pending {
		d.quiet = true
		s.pending[path] = d
	}
	s.readDue(now)
	return s.batch(now, true)
}

// Run reads everything, gives it to emit as the first batch, and then one batch
// for each change until ctx ends; emit is called from one goroutine, never twice
// at a time. Run returns nil when ctx ends, or an error if nothing can be watched.
func (s *Source) Run(ctx context.Context, emit func(snapshot.Batch)) error {
	w, err := newWatcher()
	if err != nil {
		return err
	}
	defer w.close()
	var background sync.WaitGroup
	defer background.Wait()
	if saver := s.index.ledger.saver; saver != nil {
		saving, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop() // after the loop, so that its last changes are saved
		background.Go(func() { saver.run(saving) })
	}
	s.loop(ctx, w, emit)
	return nil
}
