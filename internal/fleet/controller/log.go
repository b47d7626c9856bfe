package controller

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// beneath lowers what libraries say by one level: their information is our debugging.
type beneath struct{ slog.Handler }

func (b beneath) Enabled(ctx context.Context, l slog.Level) bool {
	return b.Handler.Enabled(ctx, lower(l))
}

func (b beneath) Handle(ctx context.Context, r slog.Record) error {
	r.Level = lower(r.Level)
	return b.Handler.Handle(ctx, r)
}

func (b beneath) WithAttrs(a []slog.Attr) slog.Handler { return beneath{b.Handler.WithAttrs(a)} }

func (b beneath) WithGroup(name string) slog.Handler { return beneath{b.Handler.WithGroup(name)} }

func lower(l slog.Level) slog.Level {
	if l < slog.LevelError {
		return min(l, slog.LevelDebug)
	}
	return slog.LevelWarn
}

func logger(l *slog.Logger) logr.Logger { return logr.FromSlogHandler(beneath{l.Handler()}) }

var quieted sync.Once

// quiet leads what the libraries say of themselves into our log.
func quiet(l *slog.Logger) {
	quieted.Do(func() {
		log.SetLogger(logger(l))
		klog.SetLogger(logger(l))
	})
}

// watchFailed says why a watch does not work. That one ends, or begins anew, is usual.
func (c *Controller) watchFailed(ctx context.Context, r *cache.Reflector, err error) {
	if ctx.Err() != nil || errors.Is(err, io.EOF) || api_errors.IsResourceExpired(err) || api_errors.IsGone(err) {
		return
	}
	c.o.Log.Warn("a watch of the Kubernetes API has failed; trying again", observe.KeyResource, r.TypeDescription(), observe.KeyError, err)
}
