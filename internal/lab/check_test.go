package lab

import (
	"strings"
	"testing"
)

func ran(name string, model Model, program string, wrongFor float64) Proxy {
	p := Proxy{Name: name, Model: model, Program: program}
	if wrongFor > 0 {
		p.Wrong.Windows = []Span{{From: 0, To: Moment(wrongFor * 1e9)}}
	}
	if program != "" {
		p.Requests = &Requests{Due: 10, Answered: 6, AnsweredByRemoved: 1, Failed: 2, NoBackend: 1, FailedBy: map[Outcome]int{Reset: 1, Status: 1}}
	}
	return p
}

func checked(change func([]Proxy)) error {
	r := Result{
		Timeline: Timeline{Length: Moment(1e9)}, Load: Load{Rate: 10},
		Proxies: []Proxy{
			ran("model:stream", ModelStream, "", 0), ran("model:reload", ModelReload, "", 3),
			ran("nginx", ModelReload, "nginx 1.22.1", 2), ran("envoy-xds", ModelStream, "Envoy 1.40.0", 0.01),
		},
	}
	change(r.Proxies)
	return r.Check()
}

func TestCheck(t *testing.T) {
	if err := checked(func([]Proxy) {}); err != nil {
		t.Errorf("a run that keeps every promise: %v", err)
	}
	for want, change := range map[string]func([]Proxy){
		"proxy nginx was skipped: not installed":                                    func(p []Proxy) { p[2].Skipped = "not installed" },
		"proxy envoy-xds failed: it ended":                                          func(p []Proxy) { p[3].Failed = "it ended" },
		"proxy model:stream was wrong 1 times: a plain stream is never wrong":       func(p []Proxy) { p[0].Wrong.Windows = []Span{{0, 1}} },
		"proxy nginx: 10 requests were due, but 9 are accounted for":                func(p []Proxy) { p[2].Requests.Answered-- },
		"proxy nginx: 2 requests failed, but 3 have a cause":                        func(p []Proxy) { p[2].Requests.FailedBy[TimedOut] = 1 },
		"proxy nginx: 9 requests are accounted for, but 10 were due":                func(p []Proxy) { p[2].Requests.Due, p[2].Requests.Answered = 9, 5 },
		"proxy nginx was wrong for 10ms and envoy-xds for 10ms: the one that reloa": func(p []Proxy) { p[2].Wrong = p[3].Wrong },
	} {
		err := checked(change)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want only %q", err, want)
		}
	}
}

// Not even a plain stream is told what nobody knows.
func TestCheckLetsAStreamBeWrongAboutTheLost(t *testing.T) {
	p := ran("model:stream", ModelStream, "", 1)
	if err := (Result{Timeline: Timeline{Events: []Event{{Kind: Lose}}}, Proxies: []Proxy{p}}).Check(); err != nil {
		t.Error(err)
	}
}
