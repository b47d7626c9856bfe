package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// Process runs gatehouse-forward as the whole of a process, and returns its exit code.
// The first SIGTERM or SIGINT drains, a second one ends at once.
func Process() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Some senders signal both a process and its group.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	return Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Main runs the command line until it is done or ctx ends. It returns 0, 1 for a
// failure, or 2 for wrong usage.
func Main(ctx context.Context, args []string, out, errs io.Writer) int {
	var o Options
	var help, number bool
	f := pflag.NewFlagSet("gatehouse-forward", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.SortFlags = false
	o.AddFlags(f)
	f.BoolVarP(&help, "help", "h", false, "print this")
	f.BoolVar(&number, "version", false, "print the version")
	err := f.Parse(args)
	switch {
	case err != nil:
		err = fmt.Errorf("%w; --help lists the flags", err)
	case help:
		printHelp(out, f)
		return 0
	case number:
		_, _ = fmt.Fprintln(out, "gatehouse-forward", version.Number)
		return 0
	case f.NArg() > 0:
		err = fmt.Errorf("%q is no flag; --help lists them", f.Arg(0))
	default:
		return Exit(errs, o.Run(ctx, NewLog(errs, o.Debug)))
	}
	return Exit(errs, &FlagError{Err: err})
}

// Exit prints an error, each of its lines one line, and returns the exit code.
func Exit(errs io.Writer, err error) int {
	if err == nil {
		return 0
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		_, _ = fmt.Fprintln(errs, "gatehouse-forward: "+line)
	}
	if _, ok := errors.AsType[*FlagError](err); ok {
		return 2
	}
	return 1
}

// NewLog returns a log of lines of key=value.
func NewLog(w io.Writer, debug bool) *slog.Logger {
	o := &slog.HandlerOptions{}
	if debug {
		o.Level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// helpWidth is how wide a line of the help is at most.
const helpWidth = 100

func printHelp(w io.Writer, f *pflag.FlagSet) {
	_, _ = fmt.Fprintf(w, "%s.\n\n%s\n\n%s\n\nUsage: gatehouse-forward [FLAGS]\n\nFlags:\n%s",
		Short, Example, Long, f.FlagUsagesWrapped(helpWidth))
}
