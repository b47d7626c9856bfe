package app

import (
	"log/slog"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// A session has a connection to its client and one to its server; otherFiles are for all else.
const (
	filesOfSession = 2
	otherFiles     = 100
)

// openFiles is how many files the process may have open; zero if nobody knows.
func openFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur // raised to the hard limit by package os
}

// warnOfFewFiles says that the system will refuse connections before the router does.
// Their clients are told nothing, and sessions do not reach their servers.
func warnOfFewFiles(connections int, files uint64, log *slog.Logger) {
	need := uint64(max(connections, 0))*filesOfSession + otherFiles
	if connections == 0 || files == 0 || files >= need {
		return
	}
	log.Warn("fewer files may be open than MAX_CONNECTIONS needs: raise their limit (ulimit -n, LimitNOFILE), or lower MAX_CONNECTIONS",
		observe.KeySetting, "MAX_CONNECTIONS", observe.KeyValue, connections, observe.KeyFiles, files, observe.KeyTotal, need)
}
