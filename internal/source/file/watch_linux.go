package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// watcher reports what happens in directories, by inotify(7).
type watcher struct {
	file   *os.File
	events chan []event
	done   chan struct{}
	wait   sync.WaitGroup

	mu   sync.Mutex
	dirs map[int32][]string // one watch for each inode, whatever its names
	ids  map[string]int32
}

const watched = unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_MODIFY |
	unix.IN_CREATE | unix.IN_DELETE | unix.IN_ATTRIB | unix.IN_ONLYDIR

func newWatcher() (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch files: %w; raise fs.inotify.max_user_instances", err)
	}
	w := &watcher{
		file: os.NewFile(uintptr(fd), "inotify"), events: make(chan []event), done: make(chan struct{}),
		dirs: map[int32][]string{}, ids: map[string]int32{},
	}
	w.wait.Go(w.read)
	return w, nil
}

// close stops the reader and waits for it.
func (w *watcher) close() {
	close(w.done)
	w.file.Close()
	w.wait.Wait()
}

// add watches a directory; again is harmless.
func (w *watcher) add(dir string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fd, err := w.fd()
	if err != nil {
		return err
	}
	wd, err := unix.InotifyAddWatch(fd, dir, watched)
	if errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("watch %s: no more watches; raise fs.inotify.max_user_watches", dir)
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	id := int32(wd)
	if old, ok := w.ids[dir]; ok && old != id {
		w.forget(dir, old)
	}
	w.ids[dir] = id
	if !slices.Contains(w.dirs[id], dir) {
		w.dirs[id] = append(w.dirs[id], dir)
	}
	return nil
}

// keep stops watching every directory but these.
func (w *watcher) keep(dirs map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir, id := range w.ids {
		if _, wanted := dirs[dir]; !wanted {
			delete(w.ids, dir)
			w.forget(dir, id)
		}
	}
}

// forget removes a name of a watch, and the watch with its last name.
func (w *watcher) forget(dir string, id int32) {
	w.dirs[id] = slices.DeleteFunc(w.dirs[id], func(d string) bool { return d == dir })
	if len(w.dirs[id]) > 0 {
		return
	}
	delete(w.dirs, id)
	if fd, err := w.fd(); err == nil {
		_, _ = unix.InotifyRmWatch(fd, uint32(id)) // gone already if the directory is
	}
}

// fd returns the descriptor without changing its mode, as Fd would.
func (w *watcher) fd() (int, error) {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("watch files: %w", err)
	}
	fd := -1
	err = conn.Control(func(p uintptr) { fd = int(p) })
	return fd, err
}

// read sends the events of each read as one group until the file is closed.
func (w *watcher) read() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buffer)
		if err != nil {
			return
		}
		group := w.parse(buffer[:n])
		if len(group) == 0 {
			continue
		}
		select {
		case w.events <- group:
		case <-w.done:
			return
		}
	}
}

func (w *watcher) parse(b []byte) (out []event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(b) >= unix.SizeofInotifyEvent {
		id := int32(binary.NativeEndian.Uint32(b))
		mask := binary.NativeEndian.Uint32(b[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:end], "\x00"))
		b = b[end:]
		if mask&unix.IN_IGNORED != 0 {
			w.lost(id)
			continue
		}
		c, ok := changeOf(mask)
		if c == overflow && ok {
			out = append(out, event{change: overflow})
		}
		for _, dir := range w.dirs[id] {
			if ok && name != "" {
				out = append(out, event{c, dir, name, mask&unix.IN_ISDIR != 0})
			}
		}
	}
	return out
}

// lost drops a watch that the kernel has ended, with its directory.
func (w *watcher) lost(id int32) {
	for _, dir := range w.dirs[id] {
		if w.ids[dir] == id {
			delete(w.ids, dir)
		}
	}
	delete(w.dirs, id)
}

func changeOf(mask uint32) (change, bool) {
	for _, m := range []struct {
		bit uint32
		change
	}{
		{unix.IN_Q_OVERFLOW, overflow},
		{unix.IN_CLOSE_WRITE, written},
		{unix.IN_MOVED_TO, arrived},
		{unix.IN_MODIFY, touched},
		{unix.IN_CREATE, created},
		{unix.IN_DELETE | unix.IN_MOVED_FROM, removed},
		{unix.IN_ATTRIB, attribs},
	} {
		if mask&m.bit != 0 {
			return m.change, true
		}
	}
	return 0, false
}
