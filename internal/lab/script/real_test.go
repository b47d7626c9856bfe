package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

func parsed(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

const remedy = ", or choose models only (--proxies model:stream,model:reload)"

func TestCheckReal(t *testing.T) {
	crowd := `it is one more than the 100 backends that may run at once with real proxies; remove others first` + remedy
	for name, test := range map[string]struct{ text, want string }{
		"a hundred backends":     {"steps:\n- scale: {name: a, to: 100}\n", ""},
		"one more":               {"steps:\n- scale: {name: a, to: 100}\n- add: b\n", `f.yaml:3: add "b": ` + crowd},
		"one more for a moment":  {"steps:\n- scale: {name: a, to: 100}\n- replace: {old: a-1, new: b}\n", `f.yaml:3: add "b": ` + crowd},
		"one less first":         {"steps:\n- scale: {name: a, to: 100}\n- remove: a-1\n- add: b\n", ""},
		"one that drains":        {"every: 1s\nsteps:\n- scale: {name: a, to: 100}\n- remove: {backends: a-1, grace: 2s}\n- add: b\n", `f.yaml:5: add "b": ` + crowd},
		"one that has drained":   {"every: 2s\nsteps:\n- scale: {name: a, to: 100}\n- remove: {backends: a-1, grace: 2s}\n- add: b\n", ""},
		"lost, told and another": {"steps:\n- scale: {name: a, to: 100}\n- node-loss: {backends: [a-1, a-2], notice: 1s}\n- add: [b, c]\n- add: d\n", `f.yaml:5: add "d": ` + crowd},
		"2,000 events":           {"steps:\n- scale: {name: a, to: 50}\n" + cycles(975), ""},
		"one event more":         {"steps:\n- scale: {name: a, to: 50}\n" + cycles(975) + "- reload: nginx\n", `f.yaml:1953: reload "nginx": it is event 2001 of 2001, and real proxies take at most 2000; leave steps out` + remedy},
		"half an hour":           {"every: 15m\nsteps: [{add: a}, {add: b}]", "f.yaml: the run takes 30m10s, and real proxies run for at most 30m0s; shorten the script or the duration" + remedy},
	} {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, test.text)
			timeline, err := s.Timeline(0)
			if err != nil {
				t.Fatal(err)
			}
			if got := said(s.CheckReal(timeline)); got != test.want {
				t.Errorf("CheckReal:\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// cycles returns steps that add and remove a backend n times.
func cycles(n int) (steps string) {
	for i := range n {
		steps += fmt.Sprintf("- add: x%d\n- remove: x%d\n", i, i)
	}
	return steps
}

func TestHundredThousandStepsAreForModelsOnly(t *testing.T) {
	s := parsed(t, string(manySteps(100_000)))
	timeline, err := s.Timeline(time.Minute)
	if err != nil || len(timeline.Events) != 100_000 {
		t.Fatalf("%d events, error: %v", len(timeline.Events), err)
	}
	if err := s.CheckReal(timeline); err == nil {
		t.Error("real proxies are to play 100,000 steps")
	}
}

func TestCheckReloads(t *testing.T) {
	models := map[string]lab.Model{
		"nginx": lab.ModelReload, "haproxy-reload": lab.ModelReload, "envoy-xds": lab.ModelStream, "model:dns:ttl=5s": lab.ModelDNS,
	}
	for step, want := range map[string]string{
		"reload":                     ``,
		"reload: nginx":              ``,
		"reload: [nginx, envoy-xds]": `f.yaml:3: reload "envoy-xds": its model is stream, so it never reloads; leave the step out, or name one of haproxy-reload, nginx`,
		"reload: model:dns:ttl=5s":   `f.yaml:3: reload "model:dns:ttl=5s": its model is dns, so it never reloads; leave the step out, or name one of haproxy-reload, nginx`,
		"reload: ngnix":              `f.yaml:3: reload "ngnix": no such proxy takes part; add it to --proxies, or did you mean "nginx"?`,
		"reload: caddy":              `f.yaml:3: reload "caddy": no such proxy takes part; add it to --proxies, or name one of haproxy-reload, nginx`,
	} {
		s := parsed(t, "steps:\n- add: a\n- "+step+"\n")
		if got := said(s.CheckReloads(models)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", step, got, want)
		}
	}
}

func TestCheckReloadsWithoutAnyThatReloads(t *testing.T) {
	s := parsed(t, "steps:\n- add: a\n- reload: envoy-xds\n- reload: nginx\n")
	want := `f.yaml:3: reload "envoy-xds": its model is stream, so it never reloads; leave the step out
f.yaml:4: reload "nginx": no such proxy takes part; add it to --proxies`
	if got := said(s.CheckReloads(map[string]lab.Model{"envoy-xds": lab.ModelStream})); got != want {
		t.Errorf("CheckReloads:\n%s\nwant\n%s", got, want)
	}
}
