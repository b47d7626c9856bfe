package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

func (s *session) translateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "translate -f PATH...",
		Short:   "Print what files become: the model, or Envoy's resources",
		Example: "  gatehouse translate -f examples/shop --to xds -o yaml",
		Long:    "What has no effect is told on standard error, and the rest is printed. It exits 1 if anything\nwas rejected.",
	}
	load := s.settingFlags(cmd, offline)
	paths := fileFlag(cmd)
	output := outputFlag(cmd, asYAML, asJSON)
	to := &format{value: "xds", choices: []string{"xds", "model"}}
	cmd.Flags().Var(to, "to", "what to print: xds or model")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(to.choices, cobra.ShellCompDirectiveNoFileComp))
	secrets := cmd.Flags().Bool("show-secrets", false, "print private keys instead of replacing them")
	cmd.RunE = s.begin(func(cmd *cobra.Command, args []string) error {
		from, err := files(paths, args)
		if err != nil {
			return err
		}
		loaded, err := load(false)
		if err != nil {
			return usage(err)
		}
		rejected := false
		err = app.Translate(cmd.Context(), app.TranslateOptions{
			Paths: from, To: to.value, ShowSecrets: *secrets,
			BindAddress: loaded.Run.BindAddress, ControllerName: loaded.Run.ControllerName, Features: loaded.Run.Features,
			Print: func(v any) error { return encode(s.Out, output.value, v) },
			Finding: func(f app.Finding) {
				rejected = rejected || !f.Warning
				_, _ = io.WriteString(s.Err, render.Findings(s.errStyle, findings([]app.Finding{f})))
			},
		}, s.io())
		if err == nil && rejected {
			return &exit{code: 1}
		}
		return err
	})
	return cmd
}
