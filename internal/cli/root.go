package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// root returns the whole command line.
func (s *session) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "gatehouse COMMAND",
		Short:   "Serve Gateway API objects with Envoy, and say of every object what became of it",
		Example: "  gatehouse run --config examples/shop\n  gatehouse why httproute shop/checkout",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version: version.Number,

		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2, DisableFlagsInUseLine: true,
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetVersionTemplate("gatehouse {{.Version}}\n")
	root.SetHelpTemplate(helpTemplate)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%s: %w; '%s --help' lists the flags", cmd.CommandPath(), err, cmd.CommandPath()))
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		s.runCommand(), s.whyCommand(), s.statusCommand(), s.viewsCommand(), s.validateCommand(),
		s.translateCommand(), s.labCommand(), s.postgresCommand(), s.fleetCommand(), s.egressCommand(), s.forwardCommand(), s.versionCommand(), s.completionCommand(),
	)
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true}) // --help says it all
	return root
}

// helpTemplate opens with one sentence and an example that works.
const helpTemplate = `{{.Short}}.

{{if .HasExample}}{{.Example}}

{{end}}{{with .Long}}{{.}}

{{end}}Usage: {{.UseLine}}
{{if .HasAvailableSubCommands}}
Commands:
{{range .Commands}}{{if .IsAvailableCommand}}  {{rpad .Name .NamePadding}}  {{.Short}}
{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}
{{end}}`

// knownCommand refuses a command that does not exist, and says which was likely meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	remedy := "the commands are " + strings.Join(names, ", ")
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		remedy = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("no command %q; %s", args[0], remedy)
}

// begin wraps what a command does: from here on an error is a failure, not wrong usage.
func (s *session) begin(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s.began = true
		return do(cmd, args)
	}
}
