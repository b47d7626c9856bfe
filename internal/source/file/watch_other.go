//go:build !linux

package file

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// watcher reports what happens in directories, by fsnotify. It never says that a
// file was closed, so files count after the quiet period.
type watcher struct {
	inner  *fsnotify.Watcher
	events chan []event
	done   chan struct{}
	wait   sync.WaitGroup
}

func newWatcher() (*watcher, error) {
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	w := &watcher{inner: inner, events: make(chan []event), done: make(chan struct{})}
	w.wait.Go(w.read)
	return w, nil
}

// close stops the reader and waits for it.
func (w *watcher) close() {
	close(w.done)
	w.inner.Close()
	w.wait.Wait()
}

// add watches a directory; again is harmless.
func (w *watcher) add(dir string) error {
	if err := w.inner.Add(dir); err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	return nil
}

// keep stops watching every directory but these.
func (w *watcher) keep(dirs map[string]bool) {
	for _, dir := range w.inner.WatchList() {
		if _, wanted := dirs[dir]; !wanted {
			_ = w.inner.Remove(dir) // gone already if the directory is
		}
	}
}

func (w *watcher) read() {
	for {
		var out event
		select {
		case e, ok := <-w.inner.Events:
			if !ok {
				return
			}
			out = event{dir: filepath.Dir(e.Name), name: filepath.Base(e.Name)}
			switch {
			case e.Has(fsnotify.Write):
				out.change = touched
			case e.Has(fsnotify.Create):
				out.change = created
			case e.Has(fsnotify.Remove), e.Has(fsnotify.Rename):
				out.change = removed
			default:
				out.change = attribs
			}
		case _, ok := <-w.inner.Errors:
			if !ok {
				return
			}
			out = event{change: overflow}
		}
		select {
		case w.events <- []event{out}:
		case <-w.done:
			return
		}
	}
}
