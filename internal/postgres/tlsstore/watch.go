package tlsstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// quiet is how long nothing must happen before files are read: whoever writes two files
// is between them for a moment. patience is when they are read all the same.
const quiet, patience = 100 * time.Millisecond, time.Second

// watcher tells when something happens in the directories of files.
type watcher struct {
	files
	store *Store
	inner *fsnotify.Watcher // nil if there can be none: then nothing ever happens
	said  string            // the last complaint

	events <-chan fsnotify.Event
	errors <-chan error
}

func (f files) watch(s *Store) *watcher {
	w := &watcher{files: f, store: s}
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		w.complain(err)
		return w
	}
	w.inner, w.events, w.errors = inner, inner.Events, inner.Errors
	return w
}

// add watches the directories. Again is needed in case they were replaced.
func (w *watcher) add() {
	if w.inner != nil {
		w.complain(errors.Join(w.inner.Add(filepath.Dir(w.cert)), w.inner.Add(filepath.Dir(w.key))))
	}
}

// complain says what keeps us from watching, once until it changes.
func (w *watcher) complain(err error) {
	said := fmt.Sprint(err)
	if err != nil && said != w.said {
		w.store.Log.Warn("certificate files cannot be watched: they are read every minute", observe.KeyError, err)
	}
	w.said = said
}

// wait tells whether something happened before the end of ctx or of the time. What goes
// wrong in watching counts, because something may have been missed.
func (w *watcher) wait(ctx context.Context, end <-chan time.Time) bool {
	select {
	case <-w.events:
		return true
	case <-w.errors:
		return true
	case <-ctx.Done():
	case <-end:
	}
	return false
}

// settle returns when nothing happens any more, or when patience is over.
func (w *watcher) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for w.wait(ctx, time.After(quiet)) {
	}
}

func (w *watcher) close() {
	if w.inner != nil {
		_ = w.inner.Close() // waits for its reader; what it did not say no longer matters
	}
}
