package admin

import (
	"net/http"
	"net/http/pprof"
)

// Options are what the admin API answers from.
type Options struct {
	Reporter Reporter
	// Admitter judges proposals; nil judges none.
	Admitter Admitter
	// Live returns nil while the loop turns; nil means always.
	Live func() error
	// Metrics is the URL of the metrics, for the page; it may be empty.
	Metrics string
}

// api holds the handlers.
type api struct{ Options }

// Handler returns the admin API, the page at /, health, and profiles. It answers
// only requests that are addressed to this machine by IP address or localhost,
// and none that a foreign web page sends.
func Handler(o Options) http.Handler {
	a := &api{o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/verdicts", a.verdicts)
	mux.HandleFunc("GET /v1/verdicts/{kind}/{name}", a.verdict)
	mux.HandleFunc("GET /v1/verdicts/{kind}/{namespace}/{name}", a.verdict)
	mux.HandleFunc("GET /v1/status", a.objects)
	mux.HandleFunc("GET /v1/status/{kind}", a.objects)
	mux.HandleFunc("GET /v1/status/{kind}/{name}", a.objects)
	mux.HandleFunc("GET /v1/status/{kind}/{namespace}/{name}", a.objects)
	mux.HandleFunc("GET /v1/overview", a.overview)
	mux.HandleFunc("GET /v1/views", a.views)
	mux.HandleFunc("GET /v1/rejections", a.rejections)
	mux.HandleFunc("POST /v1/admission", a.review)
	mux.HandleFunc("POST /v1/admission/set", a.proposals)
	mux.HandleFunc("GET /v1/admission", onlyPost)
	mux.HandleFunc("GET /v1/admission/set", onlyPost)
	mux.HandleFunc("GET /v1/", a.unknown)
	mux.HandleFunc("GET /config_dump", a.configDump)
	mux.HandleFunc("GET /healthz", a.healthz)
	mux.HandleFunc("GET /readyz", a.readyz)
	mux.HandleFunc("GET /{$}", a.page)
	mux.HandleFunc("GET /why/{kind}/{name}", a.whyPage)
	mux.HandleFunc("GET /why/{kind}/{namespace}/{name}", a.whyPage)
	profiles(mux)
	return Guard(mux)
}

func profiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

func (a *api) unknown(w http.ResponseWriter, r *http.Request) {
	fail(w, http.StatusNotFound, "no "+r.URL.Path+": the API has /v1/verdicts, /v1/status, /v1/overview, /v1/views, /v1/rejections, /v1/admission")
}
