package arch

import (
	"regexp"
	"slices"
	"testing"
)

// rules say what packages must not depend on. Direct rules look at a package's
// own imports, the others at everything that gets linked with it. Both patterns
// match whole paths; our own packages begin with "./" in deny.
var rules = []struct {
	name   string
	pkgs   string
	deny   string
	except string
	direct bool
	why    string
}{
	{
		name: "lib is product-blind", pkgs: `pkg/.*`, deny: `\./(internal|api|cmd|hack|test)/.*`,
		why: "a package of pkg/ would make sense unchanged in a stranger's repository",
	},
	{
		name: "pure does no I/O", direct: true,
		pkgs: `pkg/(store|derive|pgwire)|internal/(snapshot|acceptance|failmode|compile|model|verdict|translate)(/.*)?`,
		deny: `os|os/.*|net|net/http|log|log/slog|syscall|math/rand(/v2)?|crypto/rand|golang.org/x/sys/.*`,
		why:  "evaluations are values: the same input gives the same bytes, on a branch or not",
	},
	{
		name: "pure reaches no cluster",
		pkgs: `pkg/(store|derive)|internal/(snapshot|acceptance|failmode|compile|model|verdict|translate)(/.*)?`,
		deny: `k8s.io/client-go(/.*)?|sigs.k8s.io/controller-runtime(/.*)?`,
		why:  "objects come in by value",
	},
	{
		name: "remembering needs nothing", pkgs: `pkg/(store|derive)|internal/model`,
		deny: `net/http|os/exec|k8s.io/.*|sigs.k8s.io/.*|github.com/envoyproxy/.*|google.golang.org/.*`,
		why:  "the core knows neither Kubernetes nor Envoy",
	},
	{
		name: "objects know no data plane", pkgs: `internal/(snapshot|acceptance|failmode|verdict|source/.*)`,
		deny: `github.com/envoyproxy/.*|google.golang.org/grpc(/.*)?|\./pkg/xdsserve`,
		why:  "what is observed and accepted does not depend on who serves it",
	},
	{
		name: "compile knows no data plane", pkgs: `internal/compile(/.*)?`,
		deny: `github.com/envoyproxy/.*|google.golang.org/grpc(/.*)?|\./pkg/xdsserve|\./internal/(translate|publish|infra|source|pipeline|admin|observe|app|cli|config)(/.*)?`,
		why:  "a new data plane is one folder under translate and one under publish",
	},
	{
		name: "translate knows no objects", pkgs: `internal/translate/.*`,
		deny: `\./internal/(snapshot|compile|source|publish|infra|pipeline|admin|observe|app|cli|config)(/.*)?|\./api/.*|sigs.k8s.io/gateway-api/.*`,
		why:  "what a data plane needs is in the model",
	},
	{
		name: "publish and infra do not decide", pkgs: `internal/(publish|infra)/.*`,
		deny: `\./internal/(snapshot|compile|acceptance|translate|source|pipeline|admin|app|cli|config)(/.*)?`,
		why:  "stages meet through value types that the lower side owns",
	},
	{
		name: "sources know no stage", pkgs: `internal/source/.*`,
		deny: `\./internal/(compile|acceptance|translate|publish|infra|pipeline|admin|app|cli|config|model)(/.*)?`,
		why:  "relevance is decided by the code that compiles, never by a second predicate",
	},
	{
		name: "the laboratory's values and models do no I/O", direct: true,
		pkgs: `internal/lab(/(model|script|report))?`,
		deny: `os|os/.*|net|net/http|log|log/slog|syscall|math/rand(/v2)?|crypto/rand|golang.org/x/sys/.*`,
		why:  "the same script gives the same table, and a report can be drawn again from its JSON",
	},
	{
		name: "the laboratory measures from outside", pkgs: `internal/lab(/.*)?`,
		deny: `\./internal/(snapshot|compile|acceptance|translate|publish|source|pipeline|admin|app|cli)(/.*)?|\./api/.*`,
		why:  "the gatehouse under test is the binary, like every other program",
	},
	{
		name: "a database session is decided without I/O", direct: true, pkgs: `internal/postgres/session`,
		deny: `os|os/.*|net|net/http|log|log/slog|time|syscall|math/rand(/v2)?|crypto/rand|golang.org/x/sys/.*`,
		why:  "the core is a state machine without sockets, clocks or logs",
	},
	{
		name: "only discovery and certificates reach Kubernetes", pkgs: `internal/postgres(/.*)?`, except: `internal/postgres/(discovery/kube(/index)?|tlsstore/secret|kubeapi)`,
		deny: `k8s.io/.*|sigs.k8s.io/.*`,
		why:  "the router works with no cluster, and a new source of routes changes one package",
	},
	{
		name: "the database router is no gateway", pkgs: `internal/postgres(/.*)?`,
		deny: `\./internal/(snapshot|compile|model|acceptance|translate|publish|source|pipeline|infra|lab|admin|app|cli)(/.*)?|\./api/.*|\./pkg/(xdsserve|derive|store)`,
		why:  "it shares pkg, observe and the command line, not the gateway's model",
	},
	{
		name: "a fleet is decided without I/O", direct: true, pkgs: `internal/fleet/(lifecycle|credential|cloudinit)`,
		deny: `os|os/.*|net/http|log|log/slog|syscall|math/rand(/v2)?|crypto/rand|golang.org/x/sys/.*`,
		why:  "what becomes of an instance follows from what is known, and can be tried without one",
	},
	{
		name: "the core of the fleet knows no shell", pkgs: `internal/fleet/(lifecycle|reconcile|credential|cloudinit|provider|gc)`,
		deny: `k8s.io/client-go/(kubernetes|rest|tools)(/.*)?|sigs.k8s.io/controller-runtime(/.*)?|cloud.google.com/.*|github.com/hetznercloud/.*|\./internal/fleet/(controller|standalone)(/.*)?`,
		why:  "the same core runs over an API server and over files",
	},
	{
		name: "what answers about leases knows no cluster and no cloud", pkgs: `internal/fleet/(lease|offer|discovery)`,
		deny: `k8s.io/client-go/(kubernetes|rest|tools)(/.*)?|sigs.k8s.io/controller-runtime(/.*)?|cloud.google.com/.*|github.com/hetznercloud/.*|github.com/prometheus/.*|\./internal/fleet/(controller|standalone|metrics)(/.*)?`,
		why:  "the same API runs over an API server and over files",
	},
	{
		name: "the fleet is no gateway", pkgs: `internal/fleet(/.*)?`,
		deny: `\./internal/(compile|model|acceptance|translate|publish|pipeline|infra|lab|postgres|app|cli|config)(/.*)?|\./pkg/(xdsserve|derive)`,
		why:  "it shares pkg, observe, the command line and the ledger of verdicts, not the gateway's model",
	},
	{
		name: "what runs on an instance carries no control plane", pkgs: `cmd/gatehouse-forward|internal/fleet/(forward|credential)(/.*)?`,
		deny: `github.com/prometheus/.*|k8s.io/.*|sigs.k8s.io/.*|cloud.google.com/.*|google.golang.org/.*|github.com/hetznercloud/.*|\./api/.*|\./internal/observe`,
		why:  "it is a small static binary that instances download",
	},
	{
		name: "a client of the lease API brings nothing along", pkgs: `clients/go`,
		deny: `\./.*|[^/]+\.[^/]+/.*`, except: ``,
		why: "crawlers take it without the control plane, and anybody can vendor it",
	},
	{
		name: "only app reaches the pipeline", direct: true, pkgs: `.*`, except: `internal/app|test/.*`,
		deny: `\./internal/pipeline`,
		why:  "one composition root, one loop",
	},
	{
		name: "only cli reaches app", direct: true, pkgs: `.*`, except: `internal/cli|test/.*`, deny: `\./internal/app`,
		why: "one way in",
	},
	{
		name: "main has no logic", direct: true, pkgs: `cmd/.*`, deny: `\./internal/.*|\./pkg/.*|\./api/.*`, except: ``,
		why: "main parses nothing and decides nothing; cli does",
	},
	{
		name: "no test code in the binary", pkgs: `cmd/.*`, deny: `testing/.*|\./internal/deps|\./(hack|test)/.*|\./.*test|go.uber.org/goleak|pgregory.net/rapid`,
		why: "what ships is what runs; testing alone is there, because hcloud-go imports it",
	},
}

func TestDependencies(t *testing.T) {
	all := packages(t)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			pkgs, deny, except := whole(rule.pkgs), whole(rule.deny), whole(rule.except)
			for _, p := range all {
				if !pkgs.MatchString(p.path()) || except.MatchString(p.path()) {
					continue
				}
				for _, dep := range p.reach(rule.direct) {
					if deny.MatchString(dep) && !allowedMain(p.path(), dep) {
						t.Errorf("%s must not depend on %s: %s", p.path(), dep, rule.why)
					}
				}
			}
		})
	}
}

// allowedMain is the one import that a main package has.
func allowedMain(path, dep string) bool {
	return path == "cmd/gatehouse" && dep == "./internal/cli" ||
		path == "cmd/gatehouse-forward" && dep == "./internal/fleet/forward/command"
}

func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// reach is what p imports, or all that is linked with it.
func (p pkg) reach(direct bool) []string {
	from := p.Deps
	if direct {
		from = p.Imports
	}
	var paths []string
	for _, dep := range from {
		paths = append(paths, relative(dep))
	}
	return paths
}

// TestSiblings holds the alternatives of one stage apart. What they stand on
// together is none of them: source/schema decodes and validates for every source.
func TestSiblings(t *testing.T) {
	shared := []string{"schema"}
	stage := regexp.MustCompile(`^(?:\./)?internal/(source|translate|publish|infra|lab/proxy|fleet/provider)/([^/]+)`)
	for _, p := range packages(t) {
		mine := stage.FindStringSubmatch(p.path())
		for _, dep := range p.reach(false) {
			theirs := stage.FindStringSubmatch(dep)
			if mine != nil && theirs != nil && mine[1] == theirs[1] && mine[2] != theirs[2] && !slices.Contains(shared, theirs[2]) {
				t.Errorf("%s must not depend on its sibling %s: either can be left out", p.path(), dep)
			}
		}
	}
}

// TestPackageNames: a package is named for what it turns into what.
func TestPackageNames(t *testing.T) {
	vague := regexp.MustCompile(`(^|/)(utils?|common|helpers?|manager|misc|shared|base)(/|$)`)
	for _, p := range packages(t) {
		if vague.MatchString(p.path()) {
			t.Errorf("%s: its name says nothing", p.path())
		}
	}
}
