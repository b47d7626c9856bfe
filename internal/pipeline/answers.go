package pipeline

import (
	"context"
	"log/slog"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// answers takes what proxies said since the last turn.
func (l *Loop) answers(ctx context.Context, events []xdsserve.Event) {
	for _, e := range events {
		l.answer(ctx, e)
	}
}

func (l *Loop) answer(ctx context.Context, e xdsserve.Event) {
	countAnswer(l.Metrics, e)
	switch e.Kind {
	case xdsserve.Connected:
		l.Log.Info("proxy connected", observe.KeyProxy, e.Proxy, observe.KeyGateway, e.Group)
	case xdsserve.Disconnected:
		l.disconnected(ctx, e)
	case xdsserve.Unidentified:
		l.Log.Error("a proxy could not be served", observe.KeyMessage, e.Message)
	case xdsserve.Sent:
		l.board.answered(e.Proxy, true, e.At)
	case xdsserve.Settled:
		l.board.answered(e.Proxy, false, e.At)
		l.tellLanded(l.inflight.settle(e.Proxy, e.Group, e.Seq))
		l.proveLanded()
		l.probeSettled(ctx, e)
	case xdsserve.Refused:
		l.refused(ctx, e)
		l.refusedByAll(e)
	case xdsserve.Doubted:
		l.Log.Warn("proxy refused a response; its resources go again one by one", observe.KeyProxy, e.Proxy,
			observe.KeyGateway, e.Group, observe.KeyMessage, e.Message)
	case xdsserve.Unserved:
		l.Log.Error("proxy asks for a type that is not served", observe.KeyProxy, e.Proxy, observe.KeyType, e.Type)
	case xdsserve.WarmTimedOut:
		l.warmTimedOut(ctx, e)
	case xdsserve.Acknowledged:
		l.acknowledged(e)
	}
}

// disconnected notes that a proxy left: nothing is known of its listeners.
func (l *Loop) disconnected(ctx context.Context, e xdsserve.Event) {
	level := slog.LevelWarn
	if _, wanted := derive.Lookup(l.accepted, l.Graph.Compiled.Model.Gateways, e.Group); !wanted {
		level = slog.LevelInfo
	} else if len(l.Target.Ledger(e.Group)) == 0 {
		l.board.unprove(model.GatewayID(e.Group), nil)
	}
	l.Log.Log(ctx, level, "proxy disconnected", observe.KeyProxy, e.Proxy, observe.KeyGateway, e.Group, observe.KeyMessage, e.Message)
	l.board.answered(e.Proxy, false, e.At)
	l.tellLanded(l.inflight.gone(e.Proxy))
	l.probeSoon(ctx, e.Group)
}

// refused notes a refusal. A port that is in use may become free, so the listener
// is offered again; everything else waits for a changed input.
func (l *Loop) refused(ctx context.Context, e xdsserve.Event) {
	l.Log.Error("proxy refused", observe.KeyProxy, e.Proxy, observe.KeyGateway, e.Group,
		observe.KeyResource, e.Names, observe.KeyMessage, e.Message)
	if e.Type != xdsserve.Listener {
		return
	}
	for _, name := range e.Names {
		s := scoped{Group: e.Group, Name: xdsserve.Name{Type: e.Type, Name: name}}
		if cannotBind(e.Message) {
			l.retries.add(s, l.Now())
		}
	}
	l.probeSoon(ctx, e.Group)
}

// cannotBind recognises the words of Envoy's listener manager for an address that
// cannot be bound; that may change without a change of ours.
func cannotBind(message string) bool { return strings.Contains(message, "cannot bind") }

// acknowledged notes that listeners were taken, which need not be offered again.
func (l *Loop) acknowledged(e xdsserve.Event) {
	if e.Type != xdsserve.Listener {
		return
	}
	for _, name := range e.Names {
		l.retries.acknowledged(scoped{Group: e.Group, Name: xdsserve.Name{Type: e.Type, Name: name}})
	}
}
