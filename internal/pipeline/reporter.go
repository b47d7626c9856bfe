package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Reporter answers questions about a running loop, from what the loop published;
// it never waits for the loop.
type Reporter struct {
	graph      *Graph
	board      *board
	proxiesOf  Proxies
	dump       func(ctx context.Context, gateway string) ([]byte, error)
	controller gateway_v1.GatewayController
	bind       netip.Addr
	identity   Identity
	now        func() time.Time

	transitions *status.Transitions
	counting    sync.Mutex // of CountObjects
}

// Identity is what a running instance says of itself.
type Identity struct {
	Version, Envoy string
	Since          time.Time
}

// Proxies is the ledger of what proxies have acknowledged and refused.
type Proxies interface {
	Ledger(group string) []xdsserve.Belief
	Standing(group string, names ...xdsserve.Name) xdsserve.Standing
}

var _ admin.Reporter = (*Reporter)(nil)

// Verdict returns the verdict of an object, or why it was never seen.
func (r *Reporter) Verdict(kind, name string) (*verdict.Verdict, *admin.NeverSeen) {
	at := r.board.current.Load()
	known, ok := snapshot.KindOf(kind)
	if !ok {
		known.Name = r.board.refusedKind(kind) // a document of a kind that is not served was refused, and says so
	}
	j := r.join(at, store.Key{Collection: known.Name, Name: name})
	switch {
	case j.seen():
	case !ok:
		return nil, r.unknownKind(kind, name)
	default:
		return nil, r.neverSeen(at, known, name)
	}
	v := j.verdict(r.now())
	return &v, nil
}

// Verdicts returns the verdicts of one kind, or with kind "" of all.
func (r *Reporter) Verdicts(kind string) []verdict.Verdict {
	at := r.board.current.Load()
	var out []verdict.Verdict
	for _, key := range r.keys(at, kind) {
		out = append(out, r.join(at, key).verdict(r.now()))
	}
	return out
}

// keys are all objects that any stage knows, in order.
func (r *Reporter) keys(at *published, kind string) []store.Key {
	seen := map[store.Key]bool{}
	only, one := snapshot.KindOf(kind)
	for _, k := range snapshot.Kinds {
		if one && k.Name != only.Name {
			continue
		}
		for name := range at.observed.Prefix(k.Name, "") {
			seen[store.Key{Collection: k.Name, Name: name}] = true
		}
	}
	for key := range at.rejected {
		seen[key] = true
	}
	for _, key := range r.board.refusedKeys() {
		seen[key] = true
	}
	return sortedOf(seen, kind)
}

// Objects returns objects with their status, as an API server would hold them.
func (r *Reporter) Objects(kind, name string) []json.RawMessage {
	at := r.board.current.Load()
	var out []json.RawMessage
	for _, key := range r.keys(at, kind) {
		if name != "" && key.Name != name {
			continue
		}
		if object, ok := r.object(at, key); ok {
			out = append(out, object)
		}
	}
	return out
}

// ConfigDump returns the configuration of a Gateway's proxy.
func (r *Reporter) ConfigDump(ctx context.Context, gateway string) ([]byte, error) {
	return r.dump(ctx, gateway)
}

// Ready returns nil once every accepted listener is served.
func (r *Reporter) Ready() error {
	at := r.board.current.Load()
	if at.at.IsZero() {
		return errors.New("no configuration was read yet")
	}
	if !at.decided {
		return errors.New("no configuration was accepted yet" + r.board.unavailability())
	}
	if waiting := waitingListeners(r.graph, at.state, r.board); len(waiting) > 0 {
		return fmt.Errorf("%d listeners are not programmed yet, first %s", len(waiting), waiting[0])
	}
	return nil
}
