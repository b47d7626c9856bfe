package process

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody runs the processes of those who may make namespaces: it owns nothing but the
// secrets of instances, and has no rights but to listen at a port below 1024 where one is
// asked for.
const nobody = 65534

// needed is what it takes to make namespaces, to start processes of nobody in them, and
// to find and end those.
const needed = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID |
	1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_KILL | 1<<unix.CAP_SYS_PTRACE

// lowPorts are those for which a right is needed.
const lowPorts = 1024

// attributes of the process of an instance.
func (p *Provider) attributes(i *instance) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true}
	if p.options.Network == nil {
		return attributes
	}
	attributes.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	if i.Port < lowPorts {
		attributes.AmbientCaps = []uintptr{unix.CAP_NET_BIND_SERVICE}
	}
	return attributes
}

// What a process is given open, as the folders above need not be open to its user.
const (
	authFile    = 4
	programFile = 5
)

// given is the path of a file that a process is given open.
func given(file int) string { return "/proc/self/fd/" + strconv.Itoa(file) }

// open opens what a process is given: the folder with the secrets of its instance, and
// that of its program.
func (p *Provider) open(i *instance, program string) (auth, folder *os.File, err error) {
	auth, err = os.Open(filepath.Join(p.store.folder(i.Name), authFolder))
	if err != nil {
		return nil, nil, err
	}
	folder, err = os.Open(filepath.Dir(program))
	if err != nil {
		_ = auth.Close()
		return nil, nil, err
	}
	return auth, folder, nil
}
