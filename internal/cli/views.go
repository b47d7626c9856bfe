package cli

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

func (s *session) viewsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "views",
		Short:   "Compare what each proxy believes with what it should",
		Example: "  gatehouse views\n  gatehouse views --check",
		Args:    cobra.NoArgs,
	}
	client := s.clientFlags(cmd)
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	check := cmd.Flags().Bool("check", false, "also exit 1 unless every proxy is in sync")
	cmd.RunE = s.begin(func(cmd *cobra.Command, _ []string) error {
		c, err := client()
		if err != nil {
			return err
		}
		views, err := c.Views(cmd.Context())
		if err != nil {
			return err
		}
		return errors.Join(s.printViews(output.value, views), inSync(*check, views))
	})
	return cmd
}

func (s *session) printViews(format string, views []admin.View) error {
	if format != asTable {
		return encode(s.Out, format, views)
	}
	_, err := io.WriteString(s.Out, render.Views(s.style, views))
	return err
}

func inSync(check bool, views []admin.View) error {
	if !check {
		return nil
	}
	var errs []error
	for _, v := range views {
		if !v.Connected || v.Behind > 0 || len(v.Refused) > 0 {
			errs = append(errs, errors.New("proxy "+v.Proxy+" of gateway "+v.Gateway+" is not in sync"))
		}
	}
	return errors.Join(errs...)
}
