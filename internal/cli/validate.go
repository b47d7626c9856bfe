package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
)

func (s *session) validateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "validate -f PATH...",
		Short:   "Check files as 'run' would, one line a finding, and exit 1 if there is any",
		Example: "  gatehouse validate -f examples/shop\n  gatehouse validate --against http://127.0.0.1:19000 -f route.yaml",
		Long: "With --against, a running instance says what would become of the files if they were saved there\n" +
			"now, all of them together, and changes nothing. What is there and not in the files stays; name\n" +
			"with --delete what would go.",
	}
	load := s.settingFlags(cmd, offline)
	paths := fileFlag(cmd)
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	running := againstFlags(cmd)
	cmd.RunE = s.begin(func(cmd *cobra.Command, args []string) error {
		address, deletions, err := running.read()
		if err != nil {
			return usage(err)
		}
		var from []string
		if len(deletions) == 0 || len(*paths)+len(args) > 0 {
			if from, err = files(paths, args); err != nil {
				return err
			}
		}
		loaded, err := load(false)
		if err != nil {
			return usage(err)
		}
		findings, err := app.Validate(cmd.Context(), app.ValidateOptions{
			Paths: from, BindAddress: loaded.Run.BindAddress, ControllerName: loaded.Run.ControllerName, Features: loaded.Run.Features,
			Against: address, Deletions: deletions, Timeout: running.timeout,
			Print: func(r app.Report) error { return s.printReport(output.value, r) },
		}, s.io())
		if err == nil && findings > 0 {
			return &exit{code: 1}
		}
		return err
	})
	return cmd
}

// fileFlag adds -f.
func fileFlag(cmd *cobra.Command) *[]string {
	cmd.Args = cobra.ArbitraryArgs
	paths := new([]string)
	cmd.Flags().VarP(&pathList{paths}, "filename", "f", "file or directory of objects; may be repeated, and more may follow")
	return paths
}

// pathList shows its kind of value as PATH.
type pathList struct{ paths *[]string }

func (p *pathList) String() string { return "" }

// Set adds one path.
func (p *pathList) Set(v string) error {
	*p.paths = append(*p.paths, v)
	return nil
}

// Type is what help shows after the flag.
func (p *pathList) Type() string { return "PATH" }

// files returns the paths of -f and those that follow it; all of them exist.
func files(flag *[]string, args []string) ([]string, error) {
	paths := slices.Concat(*flag, args)
	if len(paths) == 0 {
		return nil, usage(errors.New("no file was named; use -f PATH, for example -f examples/shop"))
	}
	var errs []error
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			errs = append(errs, fmt.Errorf("-f %s: %w; name an existing file or directory", path, errors.Unwrap(err)))
		}
	}
	return paths, usage(errors.Join(errs...))
}
