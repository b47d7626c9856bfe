//go:build unix

package cli

import (
	"os"
	"syscall"
)

// resizeSignals say that the terminal has another size.
var resizeSignals = []os.Signal{syscall.SIGWINCH}
