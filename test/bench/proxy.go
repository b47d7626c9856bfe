package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// usage is what a process has taken so far.
type usage struct {
	cpu float64 // seconds, user and system
	rss float64 // MiB
}

// proxyUsage is that of the Envoys which serve for an instance, by proc_pid_stat(5). The
// proving Envoy does not.
func proxyUsage(instance int) (sum usage, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return usage{}, err
	}
	found := false
	for _, file := range files {
		parent, one, ok := readStat(file)
		if ok && parent == instance && !proves(file) {
			found = true
			sum.cpu, sum.rss = sum.cpu+one.cpu, sum.rss+one.rss
		}
	}
	if !found {
		return usage{}, fmt.Errorf("process %d runs no proxy", instance)
	}
	return sum, nil
}

// proves tells the proving Envoy by the directory that it runs in.
func proves(stat string) bool {
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
	return err == nil && bytes.Contains(raw, []byte("/prover/"))
}

// readStat is false for a process that has ended meanwhile.
func readStat(file string) (parent int, u usage, ok bool) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0, usage{}, false
	}
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:]) // from the third on
	if len(fields) < 22 {
		return 0, usage{}, false
	}
	number := func(field int) float64 {
		n, _ := strconv.ParseFloat(string(fields[field-3]), 64)
		return n
	}
	const ticks = 100
	return int(number(4)), usage{cpu: (number(14) + number(15)) / ticks, rss: number(24) * float64(os.Getpagesize()) / (1 << 20)}, true
}
