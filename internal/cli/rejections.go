package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

func (s *session) rejectionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rejections",
		Short:   "List what is watched and not accepted: why, since when, and what serves instead",
		Example: "  gatehouse status rejections\n  gatehouse status rejections -o json",
		Long: "A rejected revision of an object has no effect; the revision that was accepted last stays in\n" +
			"force, and nothing else is held back. It exits 0 whether or not anything is rejected.",
		Args: cobra.NoArgs,
	}
	client := s.clientFlags(cmd)
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		c, err := client()
		if err != nil {
			return err
		}
		all, err := c.InputRejections(cmd.Context())
		if err != nil {
			return err
		}
		return s.printRejections(output.value, all)
	})
	return cmd
}

func (s *session) printRejections(format string, all admin.InputRejections) error {
	if format != asTable {
		return encode(s.Out, format, all)
	}
	_, err := io.WriteString(s.Out, render.Rejections(s.style, all.InputRejections, time.Now()))
	return err
}
