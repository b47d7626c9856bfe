package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	postgres_session "github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// asked is the startup of a client that is explained.
type asked struct {
	login, sni, options, database string
}

func (s *session) explainCommand() *cobra.Command {
	var ask asked
	cmd := &cobra.Command{
		Use:     "explain LOGIN",
		Short:   "Print how a login is read and where its session would go",
		Example: "  gatehouse postgres explain a.b.orders.pool --static-backends orders.pool=127.0.0.1:6432",
		Long: "LOGIN is USER.DEPLOYMENT or USER.DEPLOYMENT.pool, read from the right. It connects nowhere. Without\n" +
			"--static-backends it only reads the login. It exits 1 when a client would be refused, and prints what\n" +
			"the client would be told.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one login, for example bob.orders or bob.orders.pool")
			}
			ask.login = args[0]
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	load := s.routerFlags(cmd, offline)
	cmd.Flags().StringVar(&ask.sni, "sni", "", "`HOST` that the client's TLS handshake names")
	cmd.Flags().StringVar(&ask.options, "options", "", "`TEXT` of the client's startup parameter \"options\", as in PGOPTIONS")
	cmd.Flags().StringVar(&ask.database, "database", "", "`NAME` of the database that the client names")
	for _, name := range []string{"static-backends", "sni-suffix", "sni", "options", "database"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.RunE = s.begin(func(*cobra.Command, []string) error {
		loaded, err := load(false)
		if err != nil {
			return usage(err)
		}
		for _, line := range loaded.Warnings {
			s.warn(line)
		}
		return s.printExplained(output.value, explain(ask, loaded.Postgres))
	})
	return cmd
}

// explain decides as the router does.
func explain(ask asked, p config.Postgres) render.Explained {
	table := discovery.NewTable(p.Backends)
	out := render.Explained{Login: ask.login}
	route, err := postgres_session.Decide(ask.parameters(), ask.sni, p.SNISuffix, table)
	if err != nil {
		out.Refusal = refusal(err)
		return out
	}
	database, _ := route.Parameters.Get("database")
	out.Route = &render.Route{
		User: route.User, Deployment: route.Deployment, Pooled: route.Pooled, NamedBy: string(route.Source),
		Database: database, DatabaseNamed: ask.database != "" && database == ask.database,
	}
	if len(p.Backends) == 0 {
		return out
	}
	target, err := table.Resolve(route.Deployment, route.Pooled)
	if err != nil {
		out.Refusal = refusal(err)
		for b := range table.All() {
			out.Known = append(out.Known, b.Name())
		}
		return out
	}
	out.Server = target.Address
	return out
}

func (a asked) parameters() pgwire.Parameters {
	var p pgwire.Parameters
	p.Set("user", a.login)
	if a.database != "" {
		p.Set("database", a.database)
	}
	if a.options != "" {
		p.Set("options", a.options)
	}
	return p
}

// refusal is what the client is told.
func refusal(err error) *render.Refusal {
	r, ok := errors.AsType[*postgres_session.RefusalError](err)
	if !ok { // every error of these packages is one
		return &render.Refusal{Message: err.Error()}
	}
	return &render.Refusal{Severity: string(pgwire.Fatal), SQLSTATE: r.SQLSTATE, Message: r.Message, Hint: r.Hint}
}

// printExplained fails without a word of its own where the answer is a refusal.
func (s *session) printExplained(format string, e render.Explained) error {
	var err error
	if format != asTable {
		err = encode(s.Out, format, e)
	} else {
		_, err = io.WriteString(s.Out, render.Explain(s.style, e))
	}
	if err != nil {
		return fmt.Errorf("output cannot be written: %w", err)
	}
	if e.Refusal != nil {
		return &exit{code: 1}
	}
	return nil
}
