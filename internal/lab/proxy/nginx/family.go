package nginx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// worker is a process that serves requests.
type worker struct {
	pid, generation int
	// leaving: it takes no connection, and ends when its requests have.
	leaving bool
}

// Titles that workers give themselves.
const (
	titleWorker  = "nginx: worker process"
	titleLeaving = "nginx: worker process is shutting down"
)

// family finds the workers of a master.
type family struct {
	master int
	log    string // generationLog

	mu          sync.Mutex
	generations map[int]int // by process; a worker never changes its own
}

// look returns the workers that are alive. One that has not begun to take connections
// has no title yet and is not among them.
func (f *family) look() ([]worker, error) {
	pids, err := proxy.Children(f.master)
	if err != nil {
		return nil, fmt.Errorf("find nginx's workers: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := make(map[int]int, len(pids))
	var all []worker
	for _, pid := range pids {
		title := title(pid)
		if !strings.HasPrefix(title, titleWorker) {
			continue
		}
		generation, ok := f.generations[pid]
		if !ok {
			if generation, err = f.open(pid); err != nil {
				return nil, err
			}
		}
		if generation == 0 {
			continue // it has ended
		}
		known[pid] = generation
		all = append(all, worker{pid: pid, generation: generation, leaving: strings.HasPrefix(title, titleLeaving)})
	}
	f.generations = known
	return all, nil
}

// title is what a process calls itself; one that has ended is "".
func title(pid int) string {
	text, _ := os.ReadFile(process(pid, "cmdline"))
	return string(text)
}

func process(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// open returns the generation of a worker by the log that it has open, 0 if it has ended.
func (f *family) open(pid int) (int, error) {
	dir := process(pid, "fd")
	files, err := os.ReadDir(dir)
	for _, file := range files {
		link, _ := os.Readlink(filepath.Join(dir, file.Name()))
		if number, ok := strings.CutPrefix(link, f.log); ok {
			return strconv.Atoi(number)
		}
	}
	if title(pid) == "" {
		return 0, nil
	}
	if err == nil {
		err = errors.New("it has no log of a generation open")
	}
	return 0, fmt.Errorf("find the generation of nginx's worker %d: %w", pid, err)
}
