package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/fleetapi"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

func (s *session) fleetListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the Proxies of a running fleet: how far each has come, where it is, and why it is not ready",
		Example: "  gatehouse fleet list\n  gatehouse fleet list -o json",
		Long:    "'gatehouse why proxy NAMESPACE/NAME' says more of one. It exits 0 whether or not all is well.",
		Args:    cobra.NoArgs,
	}
	load := s.fleetFlags(cmd, onlyAdmin)
	cmd.Flags().Lookup("admin-address").Usage = "where the running fleet's admin API listens"
	timeout := cmd.Flags().Duration("timeout", 10*time.Second, "`DURATION` to wait for the answer")
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		loaded, err := load()
		if err != nil {
			return usage(err)
		}
		list, err := fleetapi.List(cmd.Context(), admin.Client{Address: loaded.Fleet.AdminAddress, Timeout: *timeout})
		if err != nil {
			return err
		}
		return s.printFleet(output.value, list)
	})
	return cmd
}

func (s *session) printFleet(format string, list explain.List) error {
	if format != asTable {
		return encode(s.Out, format, list)
	}
	_, err := io.WriteString(s.Out, render.Fleet(s.style, list, time.Now()))
	return err
}

// isProxy reports whether a kind, as a user writes it, is that of a fleet.
func isProxy(kind string) bool {
	return slices.Contains([]string{"proxy", "proxies", "px", "proxy." + fleetGroup, "proxies." + fleetGroup}, strings.ToLower(kind))
}

const fleetGroup = "egress.gatehouse.dev"

// whyProxy asks the fleet's admin API, which is another than that of gateways.
func (s *session) whyProxy(ctx context.Context, cmd *cobra.Command, t target, format string, check bool) error {
	c, err := s.fleetClient(cmd)
	if err != nil {
		return usage(err)
	}
	v, err := fleetapi.Why(ctx, c, t.name)
	if absent, ok := errors.AsType[*admin.AbsentError](err); ok {
		return errors.Join(s.printNeverSeen(format, absent.NeverSeen), &exit{code: 1})
	}
	if err != nil {
		return err
	}
	return errors.Join(s.printAnswer(format, v), checked(check, v.Verdict))
}

// printAnswer shows the verdict; the numbers beside it are for programs.
func (s *session) printAnswer(format string, a explain.Answer) error {
	if format != asTable {
		return encode(s.Out, format, a)
	}
	return s.printVerdict(format, a.Verdict)
}

// fleetClient is for a command that may also ask a gateway: --admin-address is where
// the fleet answers, if it is given.
func (s *session) fleetClient(cmd *cobra.Command) (admin.Client, error) {
	loaded, err := config.LoadFleet(config.Source{
		Environ: s.Environ, Only: []string{"adminAddress"},
		Flag: func(name string) ([]string, bool) { return givenFor(cmd, name) },
	})
	timeout, _ := cmd.Flags().GetDuration("timeout")
	return admin.Client{Address: loaded.Fleet.AdminAddress, Timeout: timeout}, err
}

// proxyCompletions are the names of a running fleet.
func (s *session) proxyCompletions(cmd *cobra.Command) (out []string) {
	c, err := s.fleetClient(cmd)
	if err != nil {
		return nil // a completion has nowhere to say so; running the command will
	}
	c.Timeout = completionTimeout
	list, err := fleetapi.List(cmd.Context(), c)
	if err != nil {
		return nil
	}
	for _, r := range list.Items {
		out = append(out, r.Namespace+"/"+r.Name+"\t"+r.Phase)
	}
	return out
}
