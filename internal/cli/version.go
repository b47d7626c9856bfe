package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

func (s *session) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of Gatehouse, Go, and the Envoy that it is tested with",
		Example: "  gatehouse version -o json",
		Args:    cobra.NoArgs,
	}
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.RunE = s.begin(func(*cobra.Command, []string) error {
		v := version.Get()
		if output.value != asTable {
			return encode(s.Out, output.value, v)
		}
		_, err := fmt.Fprintln(s.Out, s.style.Text(versionLine(v)))
		return err
	})
	return cmd
}

func versionLine(v version.Info) string {
	line := "gatehouse " + v.Version
	if v.Commit != "" {
		line += " · commit " + v.Commit
	}
	if v.Modified {
		line += " with changes"
	}
	return line + " · " + v.Go + " " + v.Platform + " · tested with envoy " + v.Envoy
}
