package process

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mark is what a process has in its environment: the folder of its instance and its Start.
const mark = "GATEHOUSE_INSTANCE"

// random is 26 letters and digits that nobody else has.
func random() string { return strings.ToLower(rand.Text()) }

// of returns the process that has a number now; an error if none has, or it has ended.
func of(pid int) (process, error) {
	ticks, err := startTicks(pid)
	if err != nil {
		return process{PID: pid, Ticks: ticks}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return process{PID: pid, Ticks: ticks, Boot: strings.TrimSpace(string(boot))}, err
}

// alive says whether the process has not ended. A child of ours that has is reaped.
func (p process) alive() bool {
	now, err := of(p.PID)
	if errors.Is(err, errEnded) && now.Ticks == p.Ticks {
		_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil) // of another's child we hear nothing
	}
	return err == nil && now == p
}

// signal sends a signal to the process, and to none that has its number after it.
func (p process) signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err == nil {
		defer unix.Close(fd)
		if !p.alive() {
			return nil
		}
		err = unix.PidfdSendSignal(fd, s, nil, 0)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("end process %d: %w", p.PID, err)
	}
	return nil
}

// processesOf returns the living processes of the instance with that folder.
func processesOf(folder string) []process {
	var found []process
	for one, of := range marked() {
		if at, _, _ := strings.Cut(of, ":"); at == folder {
			found = append(found, one)
		}
	}
	return found
}

// marked are all living processes of instances, with what they are marked with. Those
// that see other files than we do are not ours.
func marked() map[process]string {
	here, _ := os.Readlink("/proc/self/ns/mnt")
	entries, _ := filepath.Glob("/proc/[0-9]*/environ") // only a bad pattern is an error
	found := make(map[process]string)
	for _, path := range entries {
		text, err := os.ReadFile(path) // another user's cannot be read and is not ours
		if err != nil || !bytes.Contains(text, []byte(mark+"=")) {
			continue
		}
		if there, err := os.Readlink(filepath.Join(filepath.Dir(path), "ns", "mnt")); err != nil || there != here {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		for variable := range bytes.SplitSeq(text, []byte{0}) {
			value, is := strings.CutPrefix(string(variable), mark+"=")
			if one, err := of(pid); is && err == nil {
				found[one] = value
			}
		}
	}
	return found
}

var errEnded = errors.New("the process has ended and nobody has taken note")

// startTicks returns when a process began, in ticks of the clock since the machine was
// started; see proc_pid_stat(5). For a zombie it returns errEnded too.
func startTicks(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	const state, start = 0, 19 // among the fields after the command, which is in parentheses
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= start {
		return 0, fmt.Errorf("not the form of /proc/PID/stat: %q", text)
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	if err == nil && (fields[state] == "Z" || fields[state] == "X") {
		err = errEnded
	}
	return ticks, err
}
