package cli

import (
	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
)

// labParts are the processes of a run, which "lab propagation" starts by itself.
func (s *session) labParts() []*cobra.Command {
	leg := &cobra.Command{Use: "leg", Short: "Play one real proxy, in namespaces of its own", Args: cobra.NoArgs}
	check := leg.Flags().Bool("check", false, "only see whether one could live here")
	leg.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		if *check {
			return app.LabLegCheck()
		}
		return app.LabLeg(cmd.Context(), s.In, s.io())
	})
	backend := &cobra.Command{Use: "backend", Short: "Be a backend of a real proxy", Args: cobra.NoArgs}
	backend.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		return app.LabBackend(cmd.Context(), s.In, s.io())
	})
	endpoints := &cobra.Command{Use: "serve-endpoints SOCKET", Short: "Tell an Envoy its endpoints", Args: cobra.ExactArgs(1)}
	endpoints.RunE = s.begin(func(cmd *cobra.Command, args []string) error {
		return app.LabEndpoints(cmd.Context(), args[0], s.In, s.io())
	})
	parts := []*cobra.Command{leg, backend, endpoints}
	for _, part := range parts {
		part.Hidden = true
	}
	return parts
}
