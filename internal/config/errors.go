package config

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with the configuration.
type Error struct {
	// From is where the value came from: a flag, a variable, a file and line.
	From string
	// Field is the setting's key in the file; it may be empty.
	Field string
	Value string
	// Problem says what is wrong and what would be right.
	Problem string
}

// Error returns, in one line, where it is, the field, its value, and the remedy.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.From + ":")
	if e.Field != "" {
		b.WriteString(" " + e.Field)
	}
	if e.Value != "" {
		fmt.Fprintf(&b, " %q", e.Value)
	}
	b.WriteString(" " + e.Problem)
	return b.String()
}

// Errors are all errors of one Load, in order of the file, then of the settings.
type Errors []error

// Error joins the errors' lines.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors.
func (e Errors) Unwrap() []error { return e }
