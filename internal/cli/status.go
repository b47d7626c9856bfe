package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

func (s *session) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status [KIND [NAMESPACE/NAME]]",
		Short:   "Show gateways, listeners and what is not serving, or objects with their status",
		Example: "  gatehouse status\n  gatehouse status httproute shop/checkout -o yaml\n  gatehouse status rejections",
		Long: "With -o json or yaml it prints objects as an API server would hold them: one object when it\n" +
			"is named, else a List. The contents of Secrets are replaced.",
		Args:              optionalTarget,
		ValidArgsFunction: s.completeTarget,
	}
	cmd.AddCommand(s.rejectionsCommand())
	client := s.clientFlags(cmd)
	output := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.RunE = s.begin(func(cmd *cobra.Command, args []string) error {
		c, err := client()
		if err != nil {
			return err
		}
		t, err := parseTarget(args)
		if err != nil && len(args) > 0 {
			return usage(err)
		}
		if err := t.knownKind(cmd.Context(), c); err != nil {
			return err
		}
		q := statusQuery{session: s, cmd: cmd, client: c, target: t, format: output.value}
		return q.answer()
	})
	return cmd
}

func optionalTarget(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if len(args) > 2 {
		return errNoTarget
	}
	_, err := parseTarget(args)
	return err
}

// statusQuery is one question of the command and where its answer goes.
type statusQuery struct {
	*session
	cmd    *cobra.Command
	client admin.Client
	target target
	format string
}

func (q statusQuery) answer() error {
	switch {
	case q.format == asTable && q.target.kind == "":
		return q.overview()
	case q.format == asTable && q.target.name == "":
		return q.kindTable()
	case q.target.name == "":
		return q.list()
	}
	err := q.object()
	if absent, ok := errors.AsType[*admin.AbsentError](err); ok {
		return errors.Join(q.printNeverSeen(q.format, absent.NeverSeen), &exit{code: 1})
	}
	return err
}

func (q statusQuery) overview() error {
	o, err := q.client.Overview(q.cmd.Context())
	if err != nil {
		return err
	}
	return q.print(render.Overview(q.style, o, time.Now()))
}

func (q statusQuery) kindTable() error {
	verdicts, err := q.client.Verdicts(q.cmd.Context(), q.target.kind)
	if err != nil {
		return err
	}
	if len(verdicts) == 0 {
		return q.print(q.style.Text(fmt.Sprintf("no %s was seen\n", q.target.kind)))
	}
	return q.print(render.Verdicts(q.style, verdicts))
}

// objectList is how an API server lists objects of several kinds.
type objectList struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

func (q statusQuery) list() error {
	items, err := q.client.Objects(q.cmd.Context(), q.target.kind)
	if err != nil {
		return err
	}
	return encode(q.Out, q.format, objectList{APIVersion: "v1", Kind: "List", Items: items})
}

func (q statusQuery) object() error {
	object, err := q.client.Object(q.cmd.Context(), q.target.kind, q.target.name)
	if err != nil {
		return err
	}
	if q.format != asTable {
		return encode(q.Out, q.format, object)
	}
	v, err := q.client.Verdict(q.cmd.Context(), q.target.kind, q.target.name)
	if err != nil {
		return err
	}
	conditions, err := render.Conditions(q.style, object)
	if err != nil {
		return err
	}
	return q.print(render.Object(q.style, v) + conditions)
}

func (q statusQuery) print(text string) error {
	_, err := io.WriteString(q.Out, text)
	return err
}
