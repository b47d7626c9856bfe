package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

func (s *session) whyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "why KIND NAMESPACE/NAME",
		Short:   "Say what became of one object, and why, through every stage down to the proxies",
		Example: "  gatehouse why httproute shop/checkout\n  gatehouse why gateway shop/edge --check -o json\n  gatehouse why proxy crawl/fra-1",
		Long: "Kinds may be written in any case, as plural, or short (gw, gc, svc). Without a namespace the\n" +
			"object in namespace default is meant, or else the only one of that name. Of kind proxy (px) it asks\n" +
			"the fleet, at GATEHOUSE_FLEET_ADMIN_ADDRESS or 127.0.0.1:19030 unless --admin-address is given.\n" +
			"It exits 1 if the object was never seen, and then says what would have to be true.",
		Args:              exactTarget,
		ValidArgsFunction: s.completeTarget,
	}
	client := s.clientFlags(cmd)
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	check := cmd.Flags().Bool("check", false, "also exit 1 unless the object is Serving")
	cmd.RunE = s.begin(func(cmd *cobra.Command, args []string) error {
		t, err := parseTarget(args)
		if err != nil {
			return usage(err)
		}
		if isProxy(t.kind) {
			return s.whyProxy(cmd.Context(), cmd, t, output.value, *check)
		}
		c, err := client()
		if err != nil {
			return err
		}
		if err := t.knownKind(cmd.Context(), c); err != nil {
			return err
		}
		v, err := c.Verdict(cmd.Context(), t.kind, t.name)
		if absent, ok := errors.AsType[*admin.AbsentError](err); ok {
			return errors.Join(s.printNeverSeen(output.value, absent.NeverSeen), &exit{code: 1})
		}
		if err != nil {
			return err
		}
		return errors.Join(s.printVerdict(output.value, v), checked(*check, v))
	})
	return cmd
}

// exactTarget wants KIND and NAME, as one argument or as two.
func exactTarget(_ *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return errNoTarget
	}
	t, err := parseTarget(args)
	if err == nil && t.name == "" {
		err = errNoTarget
	}
	return err
}

func (s *session) printVerdict(format string, v verdict.Verdict) error {
	if format != asTable {
		return encode(s.Out, format, v)
	}
	_, err := io.WriteString(s.Out, render.Why(s.style, v))
	return err
}

func (s *session) printNeverSeen(format string, n admin.NeverSeen) error {
	if format != asTable {
		return encode(s.Out, format, n)
	}
	_, err := io.WriteString(s.Out, render.NeverSeen(s.style, n))
	return err
}

func checked(check bool, v verdict.Verdict) error {
	if !check || v.State == verdict.Serving {
		return nil
	}
	return fmt.Errorf("%s %s is %s, not Serving", v.Object.Kind, render.Name(v.Object), v.State)
}
