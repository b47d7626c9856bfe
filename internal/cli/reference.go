package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// Commands returns the whole command line, for the reference; it is not run.
func Commands() *cobra.Command {
	s := &session{Out: io.Discard, Err: io.Discard}
	return s.root()
}
