package arena

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Enter makes this process's new namespaces a world to live in: mounts of its own, a
// /proc that shows its own processes, a network. It returns an empty directory for
// everything that must be gone when the leg ends, and makes it the one for temporary
// files ($TMPDIR). The process must have been started by [Command].
func Enter() (dir string, err error) {
	if dir, err = Settle(); err != nil {
		return "", err
	}
	if err := network(); err != nil {
		return "", err
	}
	return dir, nil
}

// Settle is [Enter] without the network, which stays down and empty.
func Settle() (dir string, err error) {
	if err := fresh(); err != nil {
		return "", err
	}
	if dir, err = mounts(); err != nil {
		return "", err
	}
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return "", err
	}
	return dir, nil
}

// fresh refuses to change a world that others live in.
func fresh() error {
	if pid := os.Getpid(); pid != 1 {
		return fmt.Errorf("process %d is not the first of a namespace: start it through \"gatehouse lab propagation\"", pid)
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback interface: %w", err)
	}
	if lo.Flags&net.FlagUp != 0 {
		return errors.New("this network is in use already: start the leg through \"gatehouse lab propagation\"")
	}
	return nil
}

// mounts makes mounts private, so that none is seen outside, and adds ours.
func mounts() (dir string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("make the mounts private: %w", err)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("proc", "/proc", "proc", flags|unix.MS_NOEXEC, ""); err != nil {
		return "", fmt.Errorf("mount /proc: %w (in a container: run it with /proc unmasked)", err)
	}
	if dir, err = hollow(); err != nil {
		return "", err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, "mode=0700"); err != nil {
		return "", fmt.Errorf("mount a file system for temporary files at %s: %w", dir, err)
	}
	// Programs leave shared memory behind when they are killed, and share it by number.
	if _, err := os.Stat(shm); err == nil && dir != shm {
		if err := unix.Mount("tmpfs", shm, "tmpfs", flags, "mode=1777"); err != nil {
			return "", fmt.Errorf("mount %s: %w", shm, err)
		}
	}
	return dir, nil
}

const shm = "/dev/shm"

// hollow returns a directory to mount on: one that is empty, so that the mount hides
// nothing, for example a program under test; else the one for shared memory, which is
// replaced anyhow.
func hollow() (string, error) {
	for _, dir := range []string{"/mnt", "/media", "/srv", "/opt", "/home", "/boot", "/var/opt", "/var/local", "/usr/src", "/usr/games"} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
			return dir, nil
		}
	}
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		return shm, nil
	}
	return "", errors.New("no empty directory to mount temporary files on: make /mnt")
}
