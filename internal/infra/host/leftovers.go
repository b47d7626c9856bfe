package host

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// takeOver looks for what an earlier Supervisor left. Processes that may be
// adopted wait in s.found; others end; what ended processes left is removed.
func (s *Supervisor) takeOver() {
	s.found = map[model.GatewayID]*process{}
	for _, dir := range s.launcher.starts() {
		p, err := s.launcher.find(dir)
		switch {
		case err != nil:
			s.options.Log.Warn("cannot clean up after an earlier Envoy", observe.KeyPath, string(dir), observe.KeyError, err)
		case p == nil:
		case s.options.KeepProxies && !p.Ending && s.found[p.Gateway] == nil:
			s.found[p.Gateway] = p
		default:
			s.release(p)
		}
	}
}

// starts returns the folders of all starts of all Gateways.
func (l launcher) starts() []start {
	var starts []start
	for _, gateway := range folders(l.proxies) {
		for _, path := range folders(gateway) {
			starts = append(starts, start(path))
		}
	}
	return starts
}

// folders returns the paths of the folders in a folder, in order of name.
func folders(dir string) []string {
	entries, _ := os.ReadDir(dir) // what cannot be read has nothing to take over
	var paths []string
	for _, e := range entries {
		if e.IsDir() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// find returns the process that a folder tells of, or nil if it has ended; then
// the folder is removed. A process whose pid was never recorded is ended.
func (l launcher) find(dir start) (*process, error) {
	r, err := dir.read()
	if err != nil || r.PID == 0 {
		if err := killUnrecorded(dir); err != nil {
			return nil, err
		}
		return nil, dir.remove(r.AdminSocket)
	}
	if r.BootID != l.boot {
		return nil, dir.remove(r.AdminSocket)
	}
	pidfd, err := openPidfd(r.PID, r.StartTicks)
	if err != nil {
		return nil, dir.remove(r.AdminSocket)
	}
	p := &process{record: r, dir: dir, admin: newAdmin(r.AdminSocket), pidfd: pidfd, adopted: true, began: time.Now()}
	if info, err := os.Stat(dir.gatewayDir().log()); err == nil {
		p.logFrom = info.Size()
	}
	p.watch()
	return p, nil
}

// killUnrecorded ends the process of a folder that does not say its pid: the
// Supervisor ended between the start of the process and the record of it. Its
// bootstrap's path, which is an argument, tells it from all others.
func killUnrecorded(dir start) error {
	for _, pid := range pidsWith(dir.bootstrap()) {
		ticks, err := startTicks(pid)
		if err != nil {
			continue
		}
		pidfd, err := openPidfd(pid, ticks)
		if err != nil {
			continue
		}
		err = killAndWait(pidfd, pid)
		pidfd.Close()
		if err != nil {
			return fmt.Errorf("end envoy (pid %d): %w", pid, err)
		}
	}
	return nil
}

func killAndWait(pidfd *os.File, pid int) error {
	if err := signal(pidfd, unix.SIGKILL); err != nil {
		return err
	}
	if err := pidfd.SetReadDeadline(time.Now().Add(killTimeout)); err != nil {
		return err
	}
	if err := waitExit(pidfd); err != nil {
		return err
	}
	reap(pid)
	return nil
}
