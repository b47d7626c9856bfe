package cli

import "github.com/spf13/cobra"

func (s *session) postgresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "postgres COMMAND",
		Short:   "Route PostgreSQL sessions to the deployment that a login names",
		Example: "  gatehouse postgres explain bob.orders --static-backends orders=127.0.0.1:5433",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(s.explainCommand())
	return cmd
}
