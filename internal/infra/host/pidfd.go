package host

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// newPidfd wraps a process descriptor so that the runtime's poller waits for it.
func newPidfd(fd int) (*os.File, error) {
	if fd < 0 {
		return nil, errors.New("the kernel has no process descriptors: Linux 5.4 or newer is needed")
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// openPidfd returns a descriptor of a running process if it began at the given
// ticks: from then on no other process can be meant.
func openPidfd(pid int, ticks uint64) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	file, err := newPidfd(fd)
	if err != nil {
		return nil, err
	}
	if began, err := startTicks(pid); err != nil || began != ticks {
		file.Close()
		return nil, unix.ESRCH
	}
	return file, nil
}

// waitExit waits until the process has ended, or the file was closed.
func waitExit(pidfd *os.File) error {
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) bool {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err == nil && ready > 0
	})
}

// signal sends a signal; a process that has ended takes none, and that is no error.
func signal(pidfd *os.File, sig unix.Signal) error {
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	if errors.Is(err, os.ErrClosed) || errors.Is(failed, unix.ESRCH) {
		return nil
	}
	return errors.Join(err, failed)
}

// reap takes the exit status of a child that has ended; ok is false if it is not our child.
func reap(pid int) (status unix.WaitStatus, ok bool) {
	for {
		got, err := unix.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return status, err == nil && got == pid
		}
	}
}
