package cli

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func (s *session) postgresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "postgres --static-backends LIST",
		Short: "Route PostgreSQL sessions to the deployment that a login names",
		Example: "  gatehouse postgres --static-backends orders=127.0.0.1:5433\n" +
			"  gatehouse postgres explain bob.orders --static-backends orders=127.0.0.1:5433",
		Long: "Clients log in as USER.DEPLOYMENT or USER.DEPLOYMENT.pool, and what they do then passes through\n" +
			"untouched. Each flag can also be set in the environment (--static-backends is STATIC_BACKENDS);\n" +
			"flags win. At SIGTERM idle sessions end first, and the others as they come to that.",
		Args: knownCommand,
	}
	load := s.routerFlags(cmd, all)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		loaded, err := load(true)
		if err != nil {
			return usage(err)
		}
		for _, line := range loaded.Warnings {
			s.warn(line)
		}
		io := s.io()
		io.Log = s.routerLog(loaded.Postgres.Debug)
		return app.Postgres(cmd.Context(), loaded.Postgres, io)
	})
	cmd.AddCommand(s.explainCommand())
	return cmd
}

// routerLog is for people on a terminal, and JSON elsewhere.
func (s *session) routerLog(debug bool) *slog.Logger {
	o := observe.LogOptions{Level: "info"}
	if debug {
		o.Level = "debug"
	}
	_, person := terminal(s.Err)
	o.JSON = !person
	return observe.NewLogger(s.Err, o)
}
