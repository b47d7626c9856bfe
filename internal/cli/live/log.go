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
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
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

// Loaded logs the numbers, and each object that needs attention.
func (l *Log) Loaded(o observe.Loaded) {
	l.log.Info("loaded", observe.KeyFiles, o.Files, observe.KeyObjects, o.Objects, "states", render.Counts(o.ByState))
	problems := lasting(o.Problems)
	for _, p := range problems[:min(len(problems), manyRecords)] {
		l.log.LogAttrs(context.Background(), slog.LevelWarn, standing(p.State), pairs(
			observe.KeyKind, p.Kind, observe.KeyObject, p.Name, observe.KeyState, p.State,
			observe.KeyField, p.Field, observe.KeyMessage, p.Message, observe.KeyFile, p.Where)...)
	}
	if more := len(problems) - manyRecords; more > 0 {
		l.log.Warn("more objects need attention", observe.KeyObjects, more)
	}
}

// manyRecords is how many objects that need attention are logged at the start.
const manyRecords = 100

// standing says how an object that needs attention stands.
func standing(state string) string {
	switch verdict.State(state) {
	case verdict.Serving:
		return "object serves with a warning"
	case verdict.Partial:
		return "object serves in part"
	default:
		return "object is not serving"
	}
}

// pairs makes attributes of keys and values, without the empty ones.
func pairs(keysAndValues ...string) []slog.Attr {
	var out []slog.Attr
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i+1] != "" {
			out = append(out, slog.String(keysAndValues[i], keysAndValues[i+1]))
		}
	}
	return out
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
	attrs := pairs(observe.KeyKind, e.Kind, observe.KeyObject, e.Name, observe.KeyWhat, string(e.What),
		observe.KeyMessage, e.Message, observe.KeyFile, e.Where)
	if e.Total > 0 {
		attrs = append(attrs, slog.Int(observe.KeyAcked, e.Acked), slog.Int(observe.KeyTotal, e.Total), slog.Duration(observe.KeyTook, e.Took))
	}
	l.log.LogAttrs(context.Background(), level, "object changed", attrs...)
}

// Stopping logs why.
func (l *Log) Stopping(why string) { l.log.Info("stopping", observe.KeyReason, why) }
