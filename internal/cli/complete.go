package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
)

// completionTimeout is how long a shell waits for names before it gives none.
const completionTimeout = 500 * time.Millisecond

func (s *session) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	cmd := &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a script that completes commands, kinds, and the names of a running instance",
		Example:   "  source <(gatehouse completion bash)",
		Long:      "SHELL is bash, zsh, fish, or powershell.",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one shell: %s", strings.Join(shells, ", "))
			}
			return nil
		},
	}
	cmd.RunE = s.begin(func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			return root.GenBashCompletionV2(s.Out, true)
		case "zsh":
			return root.GenZshCompletion(s.Out)
		case "fish":
			return root.GenFishCompletion(s.Out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(s.Out)
		}
		return usage(fmt.Errorf("shell %q has no script; the shells are %s", args[0], strings.Join(shells, ", ")))
	})
	return cmd
}

// completeTarget completes KIND, then the names of a running instance.
func (s *session) completeTarget(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return kindCompletions(), cobra.ShellCompDirectiveNoFileComp
	case 1:
		if isProxy(args[0]) {
			return s.proxyCompletions(cmd), cobra.ShellCompDirectiveNoFileComp
		}
		return s.nameCompletions(cmd, args[0]), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func kindCompletions() []string {
	var out []string
	for _, k := range admin.KindNames() {
		name := strings.ToLower(k.Name)
		if len(k.Short) > 0 {
			name += "\t" + strings.Join(k.Short, ", ")
		}
		out = append(out, name)
	}
	return append(out, "proxy\tpx")
}

func (s *session) nameCompletions(cmd *cobra.Command, kind string) []string {
	file, _ := cmd.Flags().GetString("config-file")
	loaded, err := config.Load(config.Source{Environ: s.Environ, File: s.filePath(cmd, file), Only: []string{"adminAddress"}, Flag: func(name string) ([]string, bool) {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			return nil, false
		}
		return []string{flag.Value.String()}, true
	}})
	if err != nil {
		return nil // a completion has nowhere to say so; running the command will
	}
	c := admin.Client{Address: loaded.Run.AdminAddress, Timeout: completionTimeout}
	verdicts, err := c.Verdicts(cmd.Context(), kind)
	if err != nil {
		return nil
	}
	var out []string
	for _, v := range verdicts {
		out = append(out, render.Name(v.Object)+"\t"+string(v.State))
	}
	return out
}
