//go:build unix

package file

import (
	"io/fs"
	"syscall"
)

// fileID identifies a file or directory on this machine.
type fileID struct{ device, inode uint64 }

// fingerprint changes whenever a file is replaced or written.
type fingerprint struct {
	id       fileID
	size     int64
	modified int64 // nanoseconds
}

func idOf(info fs.FileInfo) fileID {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(s.Dev), uint64(s.Ino)} //nolint:unconvert // the types differ by platform
	}
	return fileID{}
}

func fingerprintOf(info fs.FileInfo) fingerprint {
	return fingerprint{idOf(info), info.Size(), info.ModTime().UnixNano()}
}
