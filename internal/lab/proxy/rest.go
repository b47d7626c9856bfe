package proxy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Children returns the processes that any thread of a process has started, those of them
// that live; see proc_pid_task_tid_children(5). The error says that the process has ended.
func Children(pid int) ([]int, error) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // only a bad pattern is an error
	if len(lists) == 0 {
		return nil, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	var all []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("children of process %d: %w", pid, err)
			}
			all = append(all, child)
		}
	}
	return all, nil
}

// Rest waits until each thread of each child of a process has slept once, or ended.
// Programs that wait for events log a request right after its answer, and sleep only
// then: what clients had got before the call is logged after it.
func Rest(ctx context.Context, parent int) error {
	children, err := Children(parent)
	if err != nil {
		return nil //nolint:nilerr // it has ended, and its children with it
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for _, child := range children {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", child)) // only a bad pattern is an error
		for _, thread := range threads {
			for !rests(thread) {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return fmt.Errorf("process %d never rests, so its log is behind: %w", child, context.Cause(ctx))
				}
			}
		}
	}
	return nil
}

// Alive tells whether a process has not ended; one that nobody has waited for has.
func Alive(pid int) bool {
	state := stateOf(fmt.Sprintf("/proc/%d/stat", pid))
	return state != "" && state != "Z" && state != "X"
}

// rests tells whether a thread sleeps, or has ended.
func rests(stat string) bool {
	switch stateOf(stat) {
	case "", "S", "Z", "X":
		return true
	}
	return false
}

// stateOf reads the state from a stat file, "" if it is gone; see proc_pid_stat(5). The
// command before it, in parentheses, may hold any character.
func stateOf(stat string) string {
	text, err := os.ReadFile(stat)
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}
