package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/token"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func (s *session) egressCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "egress --tokens FILE",
		Short:   "Run a super-proxy: one address for every client, that goes by proxies of a fleet",
		Example: "  gatehouse egress token crawler > tokens\n  gatehouse egress --tokens tokens",
		Long: "Clients connect by HTTP or SOCKS5. The password is an egress token, and the user name asks for a proxy:\n" +
			"country=de,session=abc,target=shop.example; or - for any. target (by default the host that is asked for), session,\n" +
			"ttl (of the lease, in seconds) and ns (the proxy's namespace) are words of their own, all others are attributes.\n" +
			"Connections of a session go by one proxy. Each flag can also be set in the environment (--admin-address is\n" +
			"GATEHOUSE_EGRESS_ADMIN_ADDRESS); flags win.",
		Args: knownCommand,
	}
	addSettings(cmd, config.EgressSettings(), all)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		loaded, err := config.LoadEgress(config.Source{
			Environ: s.Environ,
			Flag:    func(name string) ([]string, bool) { return givenFor(cmd, name) },
		})
		if err != nil {
			return usage(err)
		}
		for _, line := range loaded.Warnings {
			s.warn(line)
		}
		io := s.io()
		io.Log = observe.NewLogger(s.Err, observe.LogOptions{Level: loaded.Egress.LogLevel, JSON: loaded.Egress.LogJSON})
		for _, g := range loaded.Given {
			io.Log.Debug("setting", observe.KeySetting, g.Key, observe.KeyValue, g.Value, observe.KeyFrom, g.From)
		}
		return app.Egress(cmd.Context(), loaded.Egress, io)
	})
	cmd.AddCommand(s.egressTokenCommand())
	return cmd
}

// egressTokenCommand makes a token. The line for the file goes to the standard output, and
// the token to whoever looks: it is told once.
func (s *session) egressTokenCommand() *cobra.Command {
	var selector string
	cmd := &cobra.Command{
		Use:     "token NAME",
		Short:   "Make an egress token, and the line of the file that lets it in",
		Example: "  gatehouse egress token crawler >> tokens\n  gatehouse egress token shops --selector country=de,ns=crawl >> tokens",
		Long: "The line, which has the token's SHA-256, goes to standard output, and the token to standard error. Nobody can\n" +
			"tell the token again: keep it. A running super-proxy reads the file again when it changes.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name who gets the token, for example: gatehouse egress token crawler")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&selector, "selector", "", "`PAIRS` that all its requests are limited to: attributes, and ns for a namespace")
	cmd.RunE = s.begin(func(_ *cobra.Command, args []string) error {
		secret, line, err := token.New(args[0], selector)
		if err != nil {
			return usage(err)
		}
		if _, err := fmt.Fprintln(s.Out, line); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Err, "the token of %s, told this once: %s\n", args[0], secret)
		return err
	})
	return cmd
}
