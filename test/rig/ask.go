package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Result is how a command ended.
type Result struct {
	Stdout, Stderr string
	Exit           int
}

// Command runs "gatehouse ARGS…" to its end. The error is set when it could not be run.
func Command(ctx context.Context, binary string, args ...string) (Result, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return Result{}, fmt.Errorf("run gatehouse %s: %w", strings.Join(args, " "), err)
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Exit: cmd.ProcessState.ExitCode()}, nil
}

// Ask runs a command against the instance: "why", "status".
func (i *Instance) Ask(ctx context.Context, args ...string) (Result, error) {
	return Command(ctx, i.binary, append(args, "--admin-address", i.Admin)...)
}

// Why runs "gatehouse why" and returns the verdict of an object. The error says so when it was never seen.
func (i *Instance) Why(ctx context.Context, kind, name string) (verdict.Verdict, error) {
	r, err := i.Ask(ctx, "why", kind, name, "-o", "json")
	if err != nil {
		return verdict.Verdict{}, err
	}
	if r.Exit != 0 {
		return verdict.Verdict{}, fmt.Errorf("why %s %s exits %d: %s%s", kind, name, r.Exit, r.Stdout, r.Stderr)
	}
	var v verdict.Verdict
	if err := json.Unmarshal([]byte(r.Stdout), &v); err != nil {
		return verdict.Verdict{}, fmt.Errorf("why %s %s: %w in %q", kind, name, err, r.Stdout)
	}
	return v, nil
}

// API asks the instance without a process for each question.
func (i *Instance) API() admin.Client { return admin.Client{Address: i.Admin} }

// WaitState waits until an object's verdict has a state, and returns it.
func (i *Instance) WaitState(ctx context.Context, kind, name string, want verdict.State) (verdict.Verdict, error) {
	var got verdict.Verdict
	err := i.Until(ctx, fmt.Sprintf("%s %s is %s", kind, name, want), func(ctx context.Context) error {
		v, err := i.API().Verdict(ctx, kind, name)
		if err != nil {
			return err
		}
		if v.State != want {
			return fmt.Errorf("it is %s: %s", v.State, Steps(v))
		}
		got = v
		return nil
	})
	return got, err
}

// Steps writes the steps of a verdict on one line each, for messages.
func Steps(v verdict.Verdict) string {
	var b strings.Builder
	for _, s := range v.Steps {
		fmt.Fprintf(&b, "\n  %s %s %s %s %s", s.Stage, s.Outcome, s.Reason, s.Field, s.Message)
	}
	return b.String()
}
