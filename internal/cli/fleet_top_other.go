//go:build !unix

package cli

import "os"

// resizeSignals say that the terminal has another size; here none does.
var resizeSignals []os.Signal
