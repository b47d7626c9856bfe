package host

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// ErrNotRunning says that the Gateway has no Envoy at this moment.
var ErrNotRunning = errors.New("no Envoy is running")

// ExitError is how an Envoy ended that nobody told to end.
type ExitError struct {
	Gateway model.GatewayID
	PID     int
	// Code is the exit status; -1 if a signal ended it, or if it is unknown, as
	// for an adopted process, which is not our child.
	Code int
	// Signal is what ended it; 0 if none or unknown.
	Signal unix.Signal
	// Log are the last lines it logged, oldest first; LogPath has all.
	Log     []string
	LogPath string
}

func (e *ExitError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "gateway %s: envoy (pid %d) ", e.Gateway, e.PID)
	switch {
	case e.Signal != 0:
		fmt.Fprintf(&text, "was ended by %s", unix.SignalName(e.Signal))
	case e.Code >= 0:
		fmt.Fprintf(&text, "ended with status %d", e.Code)
	default:
		text.WriteString("ended")
	}
	if len(e.Log) > 0 {
		fmt.Fprintf(&text, ", last saying %q", e.Log[len(e.Log)-1])
	}
	fmt.Fprintf(&text, "; see %s", e.LogPath)
	return text.String()
}
