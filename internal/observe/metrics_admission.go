package observe

func (m *Metrics) describeAdmission(c *Catalog) {
	m.Admissions = c.Counter(Metric{
		Name: "gatehouse_admissions_total", Labels: []string{"result"},
		Help:  "Proposals judged, by result: admitted, refused, or unanswered (no verdict was reached).",
		Watch: "unanswered should stay 0; an API server does then what failurePolicy says.",
	})
	m.AdmissionSeconds = c.Histogram(Metric{
		Name:  "gatehouse_admission_seconds",
		Help:  "Time of one verdict over a proposal.",
		Watch: "The 99th percentile should stay below 0.05, whatever the number of objects.",
	}, latency).WithLabelValues()
}
