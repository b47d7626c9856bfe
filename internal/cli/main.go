package cli

import (
	"context"
	"errors"
	"io"

	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

// Process is what a command gets from the operating system.
type Process struct {
	Args     []string // without the program's name
	In       io.Reader
	Out, Err io.Writer
	Environ  []string // as os.Environ returns it
}

// Main runs the command line until it is done or ctx ends, and returns the exit code.
func Main(ctx context.Context, p Process) int {
	s := &session{Process: p, env: environment(p.Environ)}
	s.style, s.errStyle = s.styleOf(p.Out), s.styleOf(p.Err)
	root := s.root()
	root.SetArgs(p.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code := 2 // everything that fails before a command begins is wrong usage
	if s.began {
		code = 1
	}
	if e, ok := errors.AsType[*exit](err); ok {
		code, err = e.code, e.err
	}
	s.printErrors(err)
	return code
}

// session is one run of the command line.
type session struct {
	Process
	env             map[string]string
	style, errStyle render.Style
	began           bool // a command's arguments were right and it runs
}

// exit is an error with its exit code; without err nothing is printed.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return "failed"
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// usage marks an error as wrong usage.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exit{code: 2, err: err}
}
