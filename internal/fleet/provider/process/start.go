package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// start starts the process of an instance that has a folder, and notes it. Where one was
// started and not noted, it is that one.
func (p *Provider) start(i *instance) error {
	found := processesOf(p.store.folder(i.Name))
	if len(found) == 0 {
		one, err := p.launch(i)
		if err != nil {
			return p.undo(i, err)
		}
		found = append(found, one)
	}
	if err := p.cut("started"); err != nil {
		return err
	}
	i.Process = found[0]
	if err := p.store.write(i); err != nil {
		return err
	}
	return p.cut("noted")
}

// undo removes an instance whose process could not be started.
func (p *Provider) undo(i *instance, why error) error {
	for _, one := range p.processes(i) {
		if err := one.signal(unix.SIGKILL); err != nil {
			return err
		}
	}
	if err := unplug(i.Cable); err != nil {
		return err
	}
	if err := p.store.remove(i.Name); err != nil {
		return err
	}
	if err := p.tidy(); err != nil {
		return err
	}
	return why
}

// launch starts a program that outlives this one.
func (p *Provider) launch(i *instance) (process, error) {
	program, err := exec.LookPath(p.options.Command[0])
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return process{}, fmt.Errorf("%w: the program of forward proxies: %w", provider.ErrTransient, err)
	}
	claim, err := claimed(i)
	if err != nil {
		return process{}, err
	}
	defer claim.Close()
	log, err := os.OpenFile(p.store.log(i.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return process{}, err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return process{}, err
	}
	defer null.Close()
	auth, folder, err := p.open(i, program)
	if err != nil {
		return process{}, err
	}
	defer auth.Close()
	defer folder.Close()
	attributes := &os.ProcAttr{
		Dir: "/", Env: environment(i, p.store.folder(i.Name)), Sys: p.attributes(i),
		Files: []*os.File{null, log, log, claim, authFile: auth, programFile: folder},
	}
	pid, err := p.inside(i, func() (int, error) {
		child, err := os.StartProcess(filepath.Join(given(programFile), filepath.Base(program)), append([]string{program}, p.arguments(i)...), attributes)
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w; user %d must be able to run %s", err, nobody, program)
		}
		if err != nil {
			return 0, err
		}
		pid := child.Pid // before it is forgotten
		return pid, child.Release()
	})
	if err != nil {
		return process{}, err
	}
	return born(pid)
}

// endStrays ends the processes with a mark of this folder, or of folders in it, that are
// not those of an instance that there is: somebody has removed its folder.
func (p *Provider) endStrays(folder string) error {
	for one, of := range marked() {
		at, start, _ := strings.Cut(of, ":")
		if at != folder && filepath.Dir(at) != folder {
			continue
		}
		i, err := p.store.read(filepath.Base(at))
		if err != nil && !errors.Is(err, provider.ErrNotFound) || err == nil && i.Start == start {
			continue
		}
		if err := one.signal(unix.SIGKILL); err != nil {
			return err
		}
	}
	return nil
}

// born returns a child that was started just now, also one that has ended since.
func born(pid int) (process, error) {
	one, err := of(pid)
	if errors.Is(err, errEnded) {
		_, err = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		one = process{PID: pid} // nobody has begun at 0
	}
	return one, err
}

// inside starts the process of an instance where it is to live.
func (p *Provider) inside(i *instance, start func() (int, error)) (int, error) {
	if p.options.Network == nil {
		return start()
	}
	return p.namespace(i, start)
}

// classed gives the errors of the operating system the class that they have for a fleet.
func classed(err error) error {
	switch {
	case err == nil, errors.Is(err, provider.ErrNotFound), errors.Is(err, provider.ErrPermanent), errors.Is(err, provider.ErrQuotaExceeded):
		return err
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fmt.Errorf("%w: %w", provider.ErrQuotaExceeded, err)
	}
	return err
}
