//go:build !linux

package proxy

import (
	"errors"
	"time"
)

// circuit and seat have no counterpart here: each direction has its goroutine.
type (
	circuit struct{}
	seat    struct{}
	steps   struct{}
)

func newCircuit(*Relay) *circuit { return nil }

func (*circuit) run() {}

func (*seat) read([]byte) (int, error)              { return 0, errors.ErrUnsupported }
func (*seat) write([]byte) (int, error)             { return 0, errors.ErrUnsupported }
func (*seat) closeWrite() error                     { return errors.ErrUnsupported }
func (*seat) close() error                          { return errors.ErrUnsupported }
func (*seat) setReadDeadline(time.Time)             {}
func (*seat) setWriteDeadline(time.Time)            {}
func (*seat) control(func(descriptor uintptr)) bool { return false }
