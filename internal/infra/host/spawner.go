package host

import (
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

// start starts a program and returns its pid and a descriptor for the process.
// With keep it outlives us, in a session of its own; else it dies with us. Either
// way no signal from our terminal reaches it.
func (s *spawner) start(argv []string, env []string, out, err *os.File, keep bool) (pid int, pidfd *os.File, failed error) {
	fd := -1
	attributes := &syscall.SysProcAttr{PidFD: &fd}
	if keep {
		attributes.Setsid = true
	} else {
		attributes.Setpgid = true
		attributes.Pdeathsig = syscall.SIGKILL
	}
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
