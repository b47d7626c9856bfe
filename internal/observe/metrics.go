package observe

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// Metrics are the metrics of one running instance, in a registry of their own.
type Metrics struct {
	Registry *prometheus.Registry

	Objects            *prometheus.GaugeVec     // kind, state
	ChangeAcknowledged *prometheus.HistogramVec // kind; seconds
	FunctionsRun       *prometheus.CounterVec   // node
	Rounds             *prometheus.CounterVec   // result
	RoundSeconds       prometheus.Observer
	Trials             *prometheus.CounterVec // outcome
	TrialFunctions     prometheus.Observer
	Admissions         *prometheus.CounterVec // result
	AdmissionSeconds   prometheus.Observer
	ResourcesSent      *prometheus.CounterVec // type
	BytesSent          prometheus.Counter
	Nacks              *prometheus.CounterVec // type
	Streams            prometheus.Gauge
	Connections        prometheus.Counter
	RejectedInputs     prometheus.Gauge
	OldestRejection    prometheus.Gauge         // seconds
	OldestRetained     *prometheus.GaugeVec     // kind; seconds
	ValidatorVerdicts  *prometheus.CounterVec   // validator, outcome
	ValidatorSeconds   *prometheus.HistogramVec // validator
	ValidatorUp        *prometheus.GaugeVec     // validator
	SourceFiles        prometheus.Gauge
	RetainedOnDisk     prometheus.Gauge
	RetainedFailures   prometheus.Counter
	ProxyRestarts      prometheus.Counter
	CertificateExpiry  *prometheus.GaugeVec // secret; Unix seconds
	Build              *prometheus.GaugeVec // version, go

	documented []Metric
}

// latency are histogram bounds in seconds: from 1 ms, dense around the 30 ms
// that an edit may take at the median and the 100 ms at the 99th percentile.
var latency = []float64{.001, .002, .005, .01, .015, .02, .03, .05, .075, .1, .2, .5, 1, 2, 5, 10, 30}

// functions are histogram bounds: from the few that an edit re-runs to the first
// evaluation of everything.
var functions = []float64{1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000}

// NewMetrics returns metrics that are all zero.
func NewMetrics() *Metrics {
	c := NewCatalog()
	m := &Metrics{Registry: c.Registry}
	m.describeObjects(c)
	m.describeLoop(c)
	m.describeValidators(c)
	m.describeAdmission(c)
	m.describeProxies(c)
	m.Build.WithLabelValues(version.Number, runtime.Version()).Set(1)
	m.documented = c.Documented()
	return m
}

// Documented returns the documentation of all metrics but those of the Go
// runtime and the process, in order of name.
func (m *Metrics) Documented() []Metric { return m.documented }

func (m *Metrics) describeObjects(c *Catalog) {
	m.Objects = c.Gauge(Metric{
		Name: "gatehouse_objects", Labels: []string{"kind", "state"},
		Help:  "Objects observed now, by kind and verdict state.",
		Watch: "Alert on state=\"Rejected\" above 0; `gatehouse status` names the objects.",
	})
	m.RejectedInputs = c.Gauge(Metric{
		Name:  "gatehouse_rejected_watched_inputs",
		Help:  "Watched objects and documents that are not accepted now; their previous accepted revisions, if any, stay in force.",
		Watch: "Should be 0; each one is an edit that somebody believes to be live. `gatehouse status rejections` lists them.",
	}).WithLabelValues()
	m.OldestRejection = c.Gauge(Metric{
		Name:  "gatehouse_oldest_rejection_age_seconds",
		Help:  "For how long the oldest of the rejected inputs has been rejected; 0 if there is none.",
		Watch: "Minutes are somebody at work; a day is an edit that was forgotten.",
	}).WithLabelValues()
	m.OldestRetained = c.Gauge(Metric{
		Name: "gatehouse_oldest_retained_age_seconds", Labels: []string{"kind"},
		Help:  "For how long an accepted revision has served in place of a rejected one, by kind of object: the oldest.",
		Watch: "Of Secrets alert well before 7 days, when the copy is closed.",
	})
	m.SourceFiles = c.Gauge(Metric{
		Name:  "gatehouse_source_files",
		Help:  "Files watched now.",
		Watch: "A sudden drop means that a directory was unmounted or moved.",
	}).WithLabelValues()
	m.RetainedOnDisk = c.Gauge(Metric{
		Name:  "gatehouse_retained_on_disk",
		Help:  "1 if every accepted revision is in the state directory, 0 while the disk refuses or is slow.",
		Watch: "Alert on 0: nothing stops, but after a restart a rejected object may have no revision to fall back to.",
	}).WithLabelValues()
	m.RetainedFailures = c.Counter(Metric{
		Name:  "gatehouse_retained_write_failures_total",
		Help:  "Attempts to save accepted revisions that failed or took too long.",
		Watch: "Should not grow; the log names the cause.",
	}).WithLabelValues()
	m.CertificateExpiry = c.Gauge(Metric{
		Name: "gatehouse_certificate_expiry_timestamp_seconds", Labels: []string{"secret"},
		Help:  "When the certificate in use expires, in seconds since 1970.",
		Watch: "Alert when it is less than your renewal time ahead; an expired certificate keeps being served.",
	})
	m.ChangeAcknowledged = c.Histogram(Metric{
		Name: "gatehouse_change_acknowledged_seconds", Labels: []string{"kind"},
		Help:  "Time from a change observed to its acknowledgement by every proxy that needs it, by kind of object.",
		Watch: "The median should stay below 0.03, the 99th percentile below 0.1.",
	}, latency)
}

func (m *Metrics) describeLoop(c *Catalog) {
	m.Rounds = c.Counter(Metric{
		Name: "gatehouse_rounds_total", Labels: []string{"result"},
		Help:  "Rounds of the loop, by result: accepted, unchanged, or rejected (some input was).",
		Watch: "Its rate is the rate of change; rejected should follow edits by people, not time.",
	})
	m.RoundSeconds = c.Histogram(Metric{
		Name:  "gatehouse_round_seconds",
		Help:  "Time of one round: evaluate, judge, publish; without waiting for proxies.",
		Watch: "Depends on the size of the change, not on the number of objects.",
	}, latency).WithLabelValues()
	m.Trials = c.Counter(Metric{
		Name: "gatehouse_trials_total", Labels: []string{"outcome"},
		Help:  "Evaluations on a branch, to find out which inputs are good, by outcome: accepted, refused (by a check or a validator), or unavailable (a validator gave no verdict).",
		Watch: "One accepted a round as long as all inputs are good; unavailable ones keep changes waiting.",
	})
	m.TrialFunctions = c.Histogram(Metric{
		Name:  "gatehouse_trial_functions",
		Help:  "Functions of derived collections that one trial re-ran.",
		Watch: "Depends on the size of the change; growth with the number of objects is a defect.",
	}, functions).WithLabelValues()
	m.FunctionsRun = c.Counter(Metric{
		Name: "gatehouse_functions_run_total", Labels: []string{"node"},
		Help:  "Functions of derived collections that were run again, by node of the graph.",
		Watch: "Per change it is the same at 30 and at 3,000 routes; growth with the number of objects is a defect.",
	})
	m.Build = c.Gauge(Metric{
		Name: "gatehouse_build_info", Labels: []string{"version", "go"},
		Help:  "1, with the version of Gatehouse and of Go.",
		Watch: "Join it to other series to compare versions.",
	})
}

func (m *Metrics) describeValidators(c *Catalog) {
	m.ValidatorVerdicts = c.Counter(Metric{
		Name: "gatehouse_validator_verdicts_total", Labels: []string{"validator", "outcome"},
		Help:  "Verdicts of validators about candidates, by outcome: accepted, refused, or unavailable.",
		Watch: "unavailable is a validator that gave no verdict; changes waited, or passed without it.",
	})
	m.ValidatorSeconds = c.Histogram(Metric{
		Name: "gatehouse_validator_seconds", Labels: []string{"validator"},
		Help:  "Time that a validator took for a verdict.",
		Watch: "Part of the time of every change but endpoints; the proving Envoy takes 0.002 for a route.",
	}, latency)
	m.ValidatorUp = c.Gauge(Metric{
		Name: "gatehouse_validator_up", Labels: []string{"validator"},
		Help:  "1 when the last verdict of a validator was one, 0 when it was unavailable.",
		Watch: "Alert on 0: changes wait, or pass without its verdict. `gatehouse status` says why.",
	})
}

func (m *Metrics) describeProxies(c *Catalog) {
	m.ResourcesSent = c.Counter(Metric{
		Name: "gatehouse_xds_resources_sent_total", Labels: []string{"type"},
		Help:  "Resources sent to proxies, removals included, by xDS type.",
		Watch: "Per edit a handful; after a restart with kept proxies 0.",
	})
	m.BytesSent = c.Counter(Metric{
		Name:  "gatehouse_xds_bytes_sent_total",
		Help:  "Bytes of resources sent to proxies.",
		Watch: "Grows with the size of changes.",
	}).WithLabelValues()
	m.Nacks = c.Counter(Metric{
		Name: "gatehouse_xds_nacks_total", Labels: []string{"type"},
		Help:  "Responses that a proxy refused, by xDS type.",
		Watch: "Should stay 0; `gatehouse views` shows which proxy refuses what.",
	})
	m.Streams = c.Gauge(Metric{
		Name:  "gatehouse_xds_streams",
		Help:  "Proxies connected now.",
		Watch: "Equals the number of Gateways that are served here.",
	}).WithLabelValues()
	m.Connections = c.Counter(Metric{
		Name:  "gatehouse_xds_connections_total",
		Help:  "Streams that proxies opened.",
		Watch: "One for each start of a proxy or of Gatehouse; more are connections that broke.",
	}).WithLabelValues()
	m.ProxyRestarts = c.Counter(Metric{
		Name:  "gatehouse_proxy_restarts_total",
		Help:  "Proxies started again after they had ended unasked.",
		Watch: "Any increase is a crash; its log is in the state directory.",
	}).WithLabelValues()
}
