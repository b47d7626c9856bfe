package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// startTicks returns when a process began, in clock ticks since the machine
// started. It tells a process from a later one with its pid. A zombie is no process.
func startTicks(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

var errZombie = errors.New("process has ended and nobody has taken note")

// parseStat reads /proc/PID/stat; see proc_pid_stat(5). The command, its second
// field, is in parentheses and may hold any character.
func parseStat(stat string) (uint64, error) {
	const state, start = 0, 19 // among the fields after the command
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) <= start {
		return 0, fmt.Errorf("not the form of /proc/PID/stat: %q", stat)
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return 0, errZombie
	}
	return strconv.ParseUint(fields[start], 10, 64)
}

// bootID tells one run of the machine from another: ticks begin anew with each.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// pidsWith returns the processes that have an argument.
func pidsWith(argument string) []int {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // only a bad pattern is an error
	var pids []int
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append(line, 0), []byte("\x00"+argument+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
