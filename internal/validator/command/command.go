// Package command judges candidates by a program of the operator's: it gets the
// complete outputs and what differs in them as files, and answers by its exit status
// and, where it refuses, a list of errors. It never goes through a shell.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Options describe one program.
type Options struct {
	// Name is how operators know it.
	Name string
	// Command is the path of the program and its arguments.
	Command []string
	// Timeout bounds one verdict; then the program and its children are killed.
	Timeout time.Duration
	// Types are the resource types that it judges.
	Types []xdsserve.Type
	// Secrets lets it see private keys.
	Secrets bool
	// Dir is a directory of its own, which is made anew. It holds what may be secret.
	Dir string
	// Render writes the body of a resource as JSON, with or without what is secret.
	Render func(r xdsserve.Resource, secrets bool) (json.RawMessage, error)
}

// Validator is a program that judges.
type Validator struct {
	Options
	files *files
}

var _ validator.Validator = (*Validator)(nil)

// New returns a Validator that has seen nothing.
func New(o Options) *Validator {
	return &Validator{Options: o, files: newFiles(o.Dir, o.render)}
}

func (o Options) render(r xdsserve.Resource) (json.RawMessage, error) { return o.Render(r, o.Secrets) }

// Name is how operators know it.
func (v *Validator) Name() string { return v.Options.Name }

// Judges reports whether a change of a type needs its verdict.
func (v *Validator) Judges(t xdsserve.Type) bool { return slices.Contains(v.Types, t) }

// Validate runs the program over a candidate. Whatever it does but accept or refuse in
// the form agreed is no verdict.
func (v *Validator) Validate(ctx context.Context, c validator.Candidate) validator.Verdict {
	if err := v.files.apply(c); err != nil {
		return validator.Verdict{Unavailable: fmt.Sprintf("the candidate cannot be written: %v", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	verdict := v.run(ctx)
	if len(verdict.Refusals) > 0 || verdict.Unavailable != "" {
		v.files.undo(c)
	}
	return verdict
}

// refused is the exit status of a program that refuses.
const refused = 1

// run starts the program and reads its answer.
func (v *Validator) run(ctx context.Context) validator.Verdict {
	out, err := v.execute(ctx)
	exit, exited := errors.AsType[*exec.ExitError](err)
	unavailable := func(format string, args ...any) validator.Verdict {
		return validator.Verdict{Unavailable: v.Command[0] + " " + fmt.Sprintf(format, args...)}
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return unavailable("gave no verdict within %s; make it quicker or its timeout longer%s", v.Timeout, said(out.stderr))
	case ctx.Err() != nil:
		return unavailable("was called off")
	case err == nil:
		return validator.Verdict{}
	case exited && exit.ExitCode() == refused:
		return answer(out)
	case exited:
		return unavailable("ended with %s instead of 0 or 1%s", exit, said(out.stderr))
	default:
		return unavailable("cannot be started: %v; put it back as an executable file", reason(err))
	}
}

// reason is the innermost error, without paths that are told already.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
