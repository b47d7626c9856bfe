package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
)

// progress shows on standard error how far a run is: a bar on a terminal, a line every
// ten seconds elsewhere. Runs of models alone are over before it would be read.
type progress struct {
	out      io.Writer
	bar      bool // a terminal
	unicode  bool
	what     string
	length   time.Duration
	started  chan time.Time
	finished chan struct{}
	done     sync.WaitGroup
}

func (s *session) newProgress(o app.LabOptions) *progress {
	real := 0
	for _, p := range o.Proxies {
		if p.Real != nil {
			real++
		}
	}
	p := &progress{
		out: s.Err, unicode: s.errStyle.Unicode, what: render.Count(real, "real proxy"), length: time.Duration(o.Timeline.Length),
		started: make(chan time.Time, 1), finished: make(chan struct{}),
	}
	if f, ok := s.Err.(*os.File); ok {
		p.bar = term.IsTerminal(int(f.Fd()))
	}
	if real > 0 {
		p.done.Go(p.run)
	}
	return p
}

// begin says that all proxies play from now on.
func (p *progress) begin() { p.started <- time.Now() }

// end waits until nothing is written any more.
func (p *progress) end() {
	close(p.finished)
	p.done.Wait()
}

func (p *progress) run() {
	every := 10 * time.Second
	if p.bar {
		every = 100 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var started time.Time
	p.show(started)
	for {
		select {
		case started = <-p.started:
		case <-tick.C:
		case <-p.finished:
			if p.bar {
				fmt.Fprint(p.out, "\r\033[K")
			}
			return
		}
		p.show(started)
	}
}

// show writes where the run is; not started is the zero time.
func (p *progress) show(started time.Time) {
	line := "starting " + p.what
	if !started.IsZero() {
		passed := time.Since(started)
		line = fmt.Sprintf("%s  %.0f s of %.0f s  %s", p.drawn(passed), min(passed, p.length).Seconds(), p.length.Seconds(), p.what)
		if passed > p.length {
			line = "waiting for the last answers of " + p.what
		}
	}
	if p.bar {
		fmt.Fprint(p.out, "\r\033[K"+line)
		return
	}
	fmt.Fprintln(p.out, strings.TrimSpace(line))
}

// drawn is the bar; elsewhere than on a terminal the numbers say it all.
func (p *progress) drawn(passed time.Duration) string {
	if !p.bar {
		return ""
	}
	const width = 30
	full, empty := "#", "."
	if p.unicode {
		full, empty = "█", "░"
	}
	n := int(width * min(passed, p.length) / max(p.length, 1))
	return strings.Repeat(full, n) + strings.Repeat(empty, width-n)
}
