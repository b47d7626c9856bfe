package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
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
		Long: "LOGIN is USER.DEPLOYMENT or USER.DEPLOYMENT.pool, read from the right. It connects to no server. It looks\n" +
			"into the static table or, as the router does, into a cluster; with neither it only reads the login. It\n" +
			"exits 1 when a client would be refused, and prints what the client would be told.",
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
	for _, name := range []string{"static-backends", "sni-suffix", "discovery-namespaces", "cluster-domain", "sni", "options", "database"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		loaded, err := load(false)
		if err != nil {
			return usage(err)
		}
		for _, line := range loaded.Warnings {
			s.warn(line)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), explainTime)
		defer cancel()
		explained, err := s.explain(ctx, ask, loaded.Postgres)
		if err != nil {
			return err
		}
		return s.printExplained(output.value, explained)
	})
	return cmd
}

// explainTime is enough for a cluster that answers.
const explainTime = 15 * time.Second

// explain decides as the router does. The error says that a cluster does not answer.
func (s *session) explain(ctx context.Context, ask asked, p config.Postgres) (render.Explained, error) {
	out := render.Explained{Login: ask.login}
	servers, err := app.LookUp(ctx, p, s.io())
	if err != nil {
		return out, err
	}
	route, err := decide(ask, p, servers)
	if err != nil {
		out.Refusal = refusal(err)
		return out, nil
	}
	database, _ := route.Parameters.Get("database")
	out.Route = &render.Route{
		User: route.User, Deployment: route.Deployment, Pooled: route.Pooled, NamedBy: string(route.Source),
		Database: database, DatabaseNamed: ask.database != "" && database == ask.database,
	}
	if p.Discovery == config.DiscoveryNone {
		return out, nil
	}
	found, ok, err := servers.Describe(ctx, route.Deployment, route.Pooled)
	if err != nil {
		return out, err
	}
	describe(&out, found)
	target, err := servers.Resolve(route.Deployment, route.Pooled)
	out.Passthrough = target.Backend.Passthrough
	if err == nil && out.Passthrough && route.Source != postgres_session.FromSNI {
		err = postgres_session.ByHostOnly(route.Deployment, route.Pooled, p.SNISuffix)
		ok = true
	}
	if err != nil {
		out.Refusal = refusal(err)
		if !ok {
			others(&out, servers)
		}
		return out, nil
	}
	out.Server = target.Address
	return out, nil
}

// decide reads nothing but the host name where TLS passes through.
func decide(ask asked, p config.Postgres, servers app.Servers) (postgres_session.Route, error) {
	deployment, pooled, ok := postgres_session.ByHost(ask.sni, p.SNISuffix, servers)
	if ok {
		if target, err := servers.Resolve(deployment, pooled); err == nil && target.Backend.Passthrough {
			return postgres_session.Route{Deployment: deployment, Pooled: pooled, Source: postgres_session.FromSNI, User: ask.login, Parameters: ask.parameters()}, nil
		}
	}
	return postgres_session.Decide(ask.parameters(), ask.sni, p.SNISuffix, servers)
}

// describe adds what a cluster knows; nothing where there is none.
func describe(out *render.Explained, found index.Description) {
	out.Service, out.Losers = found.Service, found.Losers
	for _, e := range found.Endpoints {
		out.Endpoints = append(out.Endpoints, render.Endpoint{Address: e.Address, Ready: e.Ready})
	}
	for _, p := range found.Problems {
		out.Problems = append(out.Problems, p.String())
	}
}

// others adds what there is instead, and which Services ask for something that cannot be
// read.
func others(out *render.Explained, servers app.Servers) {
	for b := range servers.All() {
		out.Known = append(out.Known, b.Name())
	}
	for _, p := range servers.Problems() {
		if p.Reason == index.InvalidDeployment || p.Reason == index.InvalidPooled {
			out.Problems = append(out.Problems, p.String())
		}
	}
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
