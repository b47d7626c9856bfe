package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/command"
)

// forwardCommand runs the code of gatehouse-forward, with the same flags.
func (s *session) forwardCommand() *cobra.Command {
	var o command.Options
	cmd := &cobra.Command{
		Use:     "forward [FLAGS]",
		Short:   command.Short,
		Example: strings.ReplaceAll(command.Example, "gatehouse-forward --", "gatehouse forward --"),
		Long:    command.Long,
		Args:    knownCommand,
	}
	o.AddFlags(cmd.Flags())
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		err := o.Run(cmd.Context(), s.routerLog(o.Debug))
		if _, wrong := errors.AsType[*command.FlagError](err); wrong {
			return usage(err)
		}
		return err
	})
	return cmd
}
