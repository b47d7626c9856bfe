package app

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// labMachine says where a run takes place.
func labMachine() lab.Machine {
	m := lab.Machine{Started: time.Now().Format(time.RFC3339), System: runtime.GOOS + " " + runtime.GOARCH, CPUs: runtime.NumCPU()}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.System = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:]) + " " + runtime.GOARCH
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.Memory = int64(info.Totalram) * int64(info.Unit) //nolint:gosec // no machine has 8 EiB
	}
	return m
}
