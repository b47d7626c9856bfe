package leg

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
)

// The arguments that make this binary call Serve, and Check.
var (
	command = []string{"lab", "leg"}
	check   = []string{"lab", "leg", "--check"}
)

// Supported returns nil if legs can run on this machine, else why not and the remedy.
func Supported(ctx context.Context, gatehouse string) error {
	return arena.Supported(ctx, gatehouse, check...)
}

// Leg is the parent's end of a leg that was started. Its methods are for one goroutine.
type Leg struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	log    *bytes.Buffer // its standard error
	result *lab.Proxy
	end    func() // ends the process and waits for it
}

// Start starts a leg: this binary, in namespaces of its own, where it calls [Serve].
// Its standard error goes to log. The leg, and all that it started, ends with Close,
// with ctx, or with this process.
func Start(ctx context.Context, order Order, log io.Writer) (*Leg, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout+time.Duration(order.Plan.Timeline.Length+order.Plan.Load.Timeout)+slack)
	l := &Leg{cmd: arena.Command(ctx, order.Gatehouse, command...), log: &bytes.Buffer{}, end: cancel}
	l.cmd.Stderr = io.MultiWriter(log, l.log)
	l.cmd.WaitDelay = stopTimeout
	if err := l.start(order); err != nil {
		cancel()
		return nil, fmt.Errorf("start a leg: %w", err)
	}
	l.end = sync.OnceFunc(func() {
		cancel()
		_ = l.cmd.Wait() // it was killed
	})
	return l, nil
}

func (l *Leg) start(order Order) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	l.out = bufio.NewReader(out)
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := l.cmd.Start(); err != nil {
		return err
	}
	// A leg that ends before it has read all this says why on its standard error.
	_, _ = l.in.Write(append(text, '\n'))
	return nil
}

// Ready returns once the leg waits for the word to go. One that failed before has a
// result already.
func (l *Leg) Ready() error { return l.read() }

// Go lets the leg begin.
func (l *Leg) Go() error {
	if l.result != nil {
		return nil
	}
	_, err := io.WriteString(l.in, goAhead+"\n")
	return err
}

// Result waits for the end of the run.
func (l *Leg) Result() (lab.Proxy, error) {
	for l.result == nil {
		if err := l.read(); err != nil {
			return lab.Proxy{}, err
		}
	}
	return *l.result, nil
}

// Close ends the leg and everything that it started.
func (l *Leg) Close() { l.end() }

// read takes one line of the leg.
func (l *Leg) read() error {
	text, err := l.out.ReadBytes('\n')
	if err != nil {
		return l.died(err)
	}
	var line said
	if err := json.Unmarshal(text, &line); err != nil {
		return fmt.Errorf("the leg says %.100q, which is no word of a leg: %w", bytes.TrimSpace(text), err)
	}
	l.result = line.Result
	return nil
}

// died says how a leg ended that has not said its result.
func (l *Leg) died(err error) error {
	l.end()
	last := strings.TrimSpace(l.log.String())
	if last == "" {
		return fmt.Errorf("the leg ended without a result: %s: %w", l.cmd.ProcessState, err)
	}
	return fmt.Errorf("the leg ended: %s", last[strings.LastIndex(last, "\n")+1:])
}
