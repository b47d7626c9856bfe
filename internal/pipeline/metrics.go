package pipeline

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// countRound adds one round to the metrics.
func countRound(m *observe.Metrics, d acceptance.Decision, changes int, took time.Duration) {
	for node, runs := range d.Work.Functions {
		m.FunctionsRun.WithLabelValues(node).Add(float64(runs))
	}
	for _, t := range d.Tried {
		m.Trials.WithLabelValues(string(t.Outcome)).Inc()
		m.TrialFunctions.Observe(float64(t.Functions))
	}
	m.RoundSeconds.Observe(took.Seconds())
	m.Rounds.WithLabelValues(roundResult(d, changes)).Inc()
}

func roundResult(d acceptance.Decision, changes int) string {
	switch {
	case d.Trials > 1:
		return "rejected"
	case changes == 0:
		return "unchanged"
	default:
		return "accepted"
	}
}

// countAnswer adds what a proxy said to the metrics.
func countAnswer(m *observe.Metrics, e xdsserve.Event) {
	switch e.Kind {
	case xdsserve.Connected:
		m.Streams.Inc()
		m.Connections.Inc()
	case xdsserve.Disconnected:
		m.Streams.Dec()
	case xdsserve.Sent:
		m.ResourcesSent.WithLabelValues(ShortType(e.Type)).Add(float64(len(e.Names) + len(e.Removed)))
		m.BytesSent.Add(float64(e.Bytes))
	case xdsserve.Doubted, xdsserve.Refused:
		m.Nacks.WithLabelValues(ShortType(e.Type)).Inc()
	case xdsserve.Acknowledged, xdsserve.Settled, xdsserve.WarmTimedOut, xdsserve.Unserved, xdsserve.Unidentified:
	}
}

// CountObjects sets the metrics that are counted when they are read.
func (r *Reporter) CountObjects(m *observe.Metrics) {
	r.counting.Lock()
	defer r.counting.Unlock()
	m.Objects.Reset()
	for of, n := range r.states() {
		m.Objects.WithLabelValues(of.kind, string(of.state)).Set(float64(n))
	}
	m.CertificateExpiry.Reset()
	for key, f := range r.graph.Compiled.Findings.All(r.board.current.Load().state) {
		if key.Collection == "Secret" && !f.Expires.IsZero() {
			m.CertificateExpiry.WithLabelValues(key.Name).Set(float64(f.Expires.Unix()))
		}
	}
	countRejections(m, r.InputRejections(), r.now())
	m.SourceFiles.Set(float64(r.board.fileCount()))
}

// countRejections sets how many inputs are rejected, and since when at most.
func countRejections(m *observe.Metrics, all []admin.InputRejection, now time.Time) {
	oldest := 0.0
	retained := map[string]float64{}
	for _, r := range all {
		oldest = max(oldest, now.Sub(r.Since).Seconds())
		if r.RetainedSeconds > 0 {
			retained[r.Object.Kind] = max(retained[r.Object.Kind], float64(r.RetainedSeconds))
		}
	}
	m.RejectedInputs.Set(float64(len(all)))
	m.OldestRejection.Set(oldest)
	m.OldestRetained.Reset()
	for kind, seconds := range retained {
		m.OldestRetained.WithLabelValues(kind).Set(seconds)
	}
}

// standing is what objects are counted by.
type standing struct {
	kind  string
	state verdict.State
}

// states counts the objects without explaining any.
func (r *Reporter) states() map[standing]int {
	at := r.board.current.Load()
	out := map[standing]int{}
	for _, key := range r.keys(at, "") {
		j := r.join(at, key)
		resources := j.resources()
		out[standing{key.Collection, j.state(resources, r.belief(resources))}]++
	}
	return out
}
