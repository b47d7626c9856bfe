package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// tellLoaded shows what became of the first batch.
func (l *Loop) tellLoaded() {
	overview := l.reporter.assuming().Overview()
	loaded := observe.Loaded{Files: l.board.fileCount(), ByState: overview.Objects}
	for _, n := range overview.Objects {
		loaded.Objects += n
	}
	for _, a := range overview.Attention {
		loaded.Problems = append(loaded.Problems, observe.Problem{
			Kind: a.Kind, Name: a.Name, State: string(a.State), Field: a.Field, Message: a.Message, Where: a.Where, Serves: a.Serves,
		})
	}
	l.Live.Loaded(loaded)
	l.tellReady()
}

// tellReady shows once that every accepted listener is served.
func (l *Loop) tellReady() {
	if l.ready || !l.started || len(waitingListeners(l.Graph, l.accepted, l.board)) > 0 {
		return
	}
	l.ready = true
	ready := observe.Ready{Took: l.Now().Sub(l.Identity.Since)}
	for _, g := range l.gateways() {
		ready.Gateways = append(ready.Gateways, l.served(g.ID))
	}
	l.Live.Ready(ready)
}

func (l *Loop) served(gateway model.GatewayID) observe.Served {
	out := observe.Served{Name: string(gateway)}
	facts := l.board.factsOf(gateway)
	for key, listener := range derive.Items(l.accepted, l.Graph.Compiled.Model.Listeners) {
		if listener.Gateway == gateway && facts.Listeners[key].Done {
			out.Addresses = append(out.Addresses, url(listener.Protocol, l.reporter.bound(listener).String()))
		}
	}
	return out
}

func url(protocol model.Protocol, address string) string {
	switch protocol {
	case model.HTTP:
		return "http://" + address
	case model.HTTPS:
		return "https://" + address
	case model.TLS:
		return "tls " + address
	case model.UDP:
		return "udp " + address
	default:
		return "tcp " + address
	}
}

// manyChanges is how many changes of one round are shown one by one.
const manyChanges = 20

// tellLanded shows changes that every proxy has answered, and measures those that
// every proxy that needs them has acknowledged.
func (l *Loop) tellLanded(flights []flight) {
	at, now := l.board.current.Load(), l.Now()
	for _, f := range flights {
		one := len(f.changes) <= manyChanges
		for _, c := range f.changes {
			b := l.reporter.believed(at, c)
			if f.seq > 0 && b.Total > 0 && b.Acknowledged == b.Total {
				l.Metrics.ChangeAcknowledged.WithLabelValues(c.key.Collection).Observe(now.Sub(c.observedAt).Seconds())
			}
			if one {
				l.Live.Event(l.event(c, b, now))
			}
		}
		if !one {
			l.tellMany(f, now)
		}
	}
}

// believed is what proxies say of a changed object. Nothing is left to ask of a
// deleted one, nor of one that was rejected.
func (r *Reporter) believed(at *published, c change) belief {
	if c.what == wasDeleted || c.what == wasRejected {
		return belief{}
	}
	return r.belief(r.join(at, c.key).resources())
}

func (l *Loop) tellMany(f flight, now time.Time) {
	byKind := map[string]int{}
	oldest := now
	for _, c := range f.changes {
		byKind[c.key.Collection]++
		if c.observedAt.Before(oldest) {
			oldest = c.observedAt
		}
	}
	for _, kind := range sortedKeys(byKind) {
		l.Live.Event(observe.LiveEvent{
			At: now, Kind: kind, Name: fmt.Sprintf("%d objects", byKind[kind]), What: observe.Changed, Took: now.Sub(oldest),
		})
	}
}

func (l *Loop) event(c change, b belief, now time.Time) observe.LiveEvent {
	e := observe.LiveEvent{
		At: now, Kind: c.key.Collection, Name: c.key.Name, What: observe.What(c.what), Acked: b.Acknowledged, Total: b.Total,
	}
	if b.Total > 0 && b.Acknowledged == b.Total {
		e.Took = now.Sub(c.observedAt)
	}
	if origin, ok := l.board.origin(c.key); ok {
		e.Where = place(origin)
	}
	switch c.what {
	case wasRejected:
		rejection := l.rejected[c.key]
		if len(rejection.Steps) > 0 {
			e.Message = explain(rejection.Steps[0]) + "; " + l.reporter.serves(l.board.current.Load(), c.key, rejection)
		}
	case wasAccepted:
		e.Message = rejectedFor(now.Sub(c.since))
	case wasExcluded:
		finding, _ := l.Graph.Compiled.Findings.Lookup(l.accepted, c.key)
		if step, ok := worst(finding.Steps); ok {
			e.Message = explain(step)
		}
	}
	if e.Message == "" && c.what == wasChanged {
		e.Message = l.shortfall(c.key, now)
	}
	if len(b.Refused) > 0 {
		e.What = observe.Warned
		e.Message = fmt.Sprintf("refused by %d of %d proxies, which keep the previous configuration: %s", b.Total-b.Acknowledged, b.Total, b.Refused[0].Message)
	}
	return e
}

// shortfall says what of a changed object does not serve.
func (l *Loop) shortfall(key store.Key, now time.Time) string {
	v := l.reporter.join(l.board.current.Load(), key).verdict(now)
	step, ok := worst(v.Steps)
	if v.State != verdict.Partial || !ok {
		return ""
	}
	return "partial: " + explain(step)
}

// rejectedFor says how long an object was rejected.
func rejectedFor(d time.Duration) string {
	return fmt.Sprintf("was rejected for %s", max(d.Round(time.Second), time.Second))
}

// tellNews shows documents that the source refused just now, and objects whose
// accepted revision is what stands in the file again.
func (l *Loop) tellNews(n news, batch snapshot.Batch) {
	if batch.Initial {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(n.released), store.Key.Compare) {
		l.Live.Event(observe.LiveEvent{
			At: l.Now(), Kind: key.Collection, Name: key.Name, What: observe.Accepted,
			Message: rejectedFor(l.Now().Sub(n.released[key])) + "; what serves did not change",
		})
	}
	for i, f := range n.refused {
		if i == manyChanges {
			l.Live.Event(observe.LiveEvent{At: l.Now(), Kind: "documents", Name: fmt.Sprintf("%d more", len(n.refused)-i), What: observe.Refused})
			return
		}
		l.Live.Event(observe.LiveEvent{
			At: l.Now(), Kind: f.Object.Collection, Name: f.Object.Name, What: observe.Refused,
			Message: explain(f.Step) + "; " + l.keptBeside(f), Where: place(f.Origin),
		})
	}
}

// explain is a step in one line, with its field.
func explain(s verdict.Step) string {
	if s.Field == "" {
		return s.Message
	}
	return s.Field + ": " + s.Message
}

// keptBeside says what is in force instead of a refused document. For one of two of
// the same object that is the other one, whatever was in force before.
func (l *Loop) keptBeside(f snapshot.Finding) string {
	if f.Step.Reason == file.DuplicateObject.Name {
		return "this one has no effect"
	}
	return l.reporter.kept(l.board.current.Load(), f)
}
