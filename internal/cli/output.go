package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Formats of -o.
const (
	asTable = "table"
	asJSON  = "json"
	asYAML  = "yaml"
)

// format is the value of -o.
type format struct {
	value   string
	choices []string
}

func (f *format) String() string { return f.value }

// Type is what help shows after the flag.
func (f *format) Type() string { return "FORMAT" }

// Set refuses what is no choice.
func (f *format) Set(v string) error {
	if !slices.Contains(f.choices, v) {
		return fmt.Errorf("must be one of %s", strings.Join(f.choices, ", "))
	}
	f.value = v
	return nil
}

// outputFlag adds -o; the first choice is the default.
func outputFlag(cmd *cobra.Command, choices ...string) *format {
	f := &format{value: choices[0], choices: choices}
	cmd.Flags().VarP(f, "output", "o", "output as "+strings.Join(choices, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	return f
}

// encode writes a value as JSON or YAML.
func encode(w io.Writer, format string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("output cannot be encoded: %w", err)
	}
	text = append(text, '\n')
	if format == asYAML {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return fmt.Errorf("output cannot be encoded: %w", err)
		}
	}
	_, err = w.Write(text)
	return err
}
