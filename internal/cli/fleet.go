package cli

import (
	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func (s *session) fleetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fleet --config DIR",
		Short:   "Create forward proxies as declared, replace them when they drift, and leak none",
		Example: "  gatehouse fleet --config examples/fleet\n  gatehouse fleet list",
		Long: "Proxies are documents of a directory, or, with --kubeconfig or in a pod, objects of a cluster. Their instances\n" +
			"outlive this process; the next one takes them over. Each flag can also be set in the environment\n" +
			"(--admin-address is GATEHOUSE_FLEET_ADMIN_ADDRESS); flags win.",
		Args: knownCommand,
	}
	load := s.fleetFlags(cmd, all)
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		loaded, err := load()
		if err != nil {
			return usage(err)
		}
		for _, line := range loaded.Warnings {
			s.warn(line)
		}
		io := s.io()
		io.Log = observe.NewLogger(s.Err, observe.LogOptions{Level: loaded.Fleet.LogLevel, JSON: loaded.Fleet.LogJSON})
		for _, g := range loaded.Given {
			io.Log.Debug("setting", observe.KeySetting, g.Key, observe.KeyValue, g.Value, observe.KeyFrom, g.From)
		}
		return app.Fleet(cmd.Context(), loaded.Fleet, io)
	})
	cmd.AddCommand(s.fleetListCommand(), s.fleetTopCommand(), s.cloudInitCommand())
	return cmd
}
