package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// listeningTCP returns the ports that a process listens on, sorted, from /proc.
func listeningTCP(t *testing.T, pid int) []uint16 {
	t.Helper()
	inodes := make(map[string]bool)
	for _, fd := range must(filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)))(t) {
		if link, err := os.Readlink(fd); err == nil {
			inodes[strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")] = true
		}
	}
	var ports []uint16
	for _, table := range []string{"tcp", "tcp6"} {
		raw := must(os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table)))(t)
		for line := range strings.Lines(string(raw)) {
			// sl local_address rem_address st … inode: see proc_pid_net(5).
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !inodes[f[9]] {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			ports = append(ports, uint16(must(strconv.ParseUint(hex, 16, 16))(t)))
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}
