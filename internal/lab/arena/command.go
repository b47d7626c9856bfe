package arena

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command returns a command that runs in new network, process and mount namespaces,
// and in a new user namespace as its root where this process lacks the rights. Give
// it a pipe as standard input that only this process can write to, and let it call
// [Enter] and [Live]: it then ends with this process, however that ends.
//
// It has a session of its own, so a Ctrl-C in the terminal reaches only the parent. A
// parent-death signal would not do instead: the kernel sends it when the thread that
// started the child ends, and threads of Go programs end while the program runs.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC,
		Setsid:     true,
	}
	if !privileged() {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

// Live reads the rest of r and ends this process when that is over. Called with the
// standard input of a leg, it ends the leg with its parent; as this process is the
// first of its namespace, everything else in there ends too.
func Live(r io.Reader) {
	go func() {
		_, _ = io.Copy(io.Discard, r)
		os.Exit(1)
	}()
}

// privileged tells whether this process may make a world without a user namespace.
func privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	const needed = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_NET_RAW
	return data[0].Effective&needed == needed
}
