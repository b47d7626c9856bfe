package host

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// spawner starts processes from one operating-system thread. The kernel sends
// the parent-death signal when the thread that started a child ends, so the
// thread has to live as long as the children: until close, or with the process.
type spawner struct {
	requests chan func()
	done     chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for start := range s.requests {
			start()
		}
	}()
	return s
}

// close ends the thread, and with it what it started and what is bound to it.
func (s *spawner) close() {
	close(s.requests)
	<-s.done
}

// way says how a process relates to us and to the network.
type way struct {
	// keep lets it outlive us, in a session of its own; else it dies with us. Either
	// way no signal from our terminal reaches it.
	keep bool
	// isolated puts it into a network namespace of its own.
	isolated bool
}

func (w way) attributes(pidfd *int) *syscall.SysProcAttr {
	out := &syscall.SysProcAttr{PidFD: pidfd}
	if w.keep {
		out.Setsid = true
	} else {
		out.Setpgid = true
		out.Pdeathsig = syscall.SIGKILL
	}
	if !w.isolated {
		return out
	}
	out.Cloneflags = syscall.CLONE_NEWNET
	if user, group := os.Geteuid(), os.Getegid(); user != 0 {
		out.Cloneflags |= syscall.CLONE_NEWUSER // in which everybody may
		out.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}}
		out.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: group, Size: 1}}
	}
	return out
}

// start starts a program and returns its pid and a descriptor for the process. Where
// no network namespace can be made, it runs without.
func (s *spawner) start(argv []string, env []string, out, err *os.File, w way) (pid int, pidfd *os.File, failed error) {
	pid, pidfd, failed = s.try(argv, env, out, err, w)
	if failed != nil && w.isolated && !errors.Is(failed, os.ErrNotExist) {
		w.isolated = false
		return s.try(argv, env, out, err, w)
	}
	return pid, pidfd, failed
}

func (s *spawner) try(argv []string, env []string, out, err *os.File, w way) (pid int, pidfd *os.File, failed error) {
	fd := -1
	attributes := w.attributes(&fd)
	null, failed := os.Open(os.DevNull)
	if failed != nil {
		return 0, nil, failed
	}
	defer null.Close()
	done := make(chan struct{})
	s.requests <- func() {
		defer close(done)
		var process *os.Process
		process, failed = os.StartProcess(argv[0], argv, &os.ProcAttr{Env: env, Files: []*os.File{null, out, err}, Sys: attributes})
		if failed == nil {
			pid = process.Pid
			failed = process.Release()
		}
	}
	<-done
	if failed != nil {
		return 0, nil, failed
	}
	if pidfd, failed = newPidfd(fd); failed != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // not reaped yet, so it cannot be another
		reap(pid)
	}
	return pid, pidfd, failed
}
