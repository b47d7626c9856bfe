package live

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/cli/render"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Log records events in a log; only addresses and "ready" go to standard output.
type Log struct {
	log   *slog.Logger
	style render.Style

	mu  sync.Mutex // guards out
	out io.Writer
}

var _ observe.Live = (*Log)(nil)

// NewLog returns a Log.
func NewLog(log *slog.Logger, out io.Writer, s render.Style) *Log {
	return &Log{log: log, out: out, style: s}
}

// Started logs the versions and addresses.
func (l *Log) Started(s observe.Start) {
	l.log.Info("started", observe.KeyVersion, s.Version, "envoy", s.Envoy, "admin", s.Admin, "metrics", s.Metrics,
		observe.KeyPath, strings.Join(s.Paths, " "))
}

// Loaded logs the numbers, and each object that is not serving.
func (l *Log) Loaded(o observe.Loaded) {
	l.log.Info("loaded", observe.KeyFiles, o.Files, observe.KeyObjects, o.Objects, "states", render.Counts(o.ByState))
	for _, p := range o.Problems {
		l.log.Warn("object is not serving", observe.KeyKind, p.Kind, observe.KeyObject, p.Name, observe.KeyState, p.State,
			observe.KeyField, p.Field, observe.KeyMessage, p.Message, observe.KeyFile, p.Where)
	}
}

// Ready prints the addresses and "ready".
func (l *Log) Ready(r observe.Ready) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.out, "%sready in %s\n", served(l.style, r.Gateways), render.Duration(r.Took))
	l.log.Info("ready", observe.KeyTook, r.Took)
}

// Event logs one change.
func (l *Log) Event(e observe.LiveEvent) {
	level := slog.LevelInfo
	if e.What == observe.Refused || e.What == observe.Warned {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String(observe.KeyKind, e.Kind), slog.String(observe.KeyObject, e.Name), slog.String(observe.KeyWhat, string(e.What)),
	}
	if e.Total > 0 {
		attrs = append(attrs, slog.Int(observe.KeyAcked, e.Acked), slog.Int(observe.KeyTotal, e.Total), slog.Duration(observe.KeyTook, e.Took))
	}
	if e.Message != "" {
		attrs = append(attrs, slog.String(observe.KeyMessage, e.Message))
	}
	if e.Where != "" {
		attrs = append(attrs, slog.String(observe.KeyFile, e.Where))
	}
	l.log.LogAttrs(context.Background(), level, "object changed", attrs...)
}

// Stopping logs why.
func (l *Log) Stopping(why string) { l.log.Info("stopping", observe.KeyReason, why) }
