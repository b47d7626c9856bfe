package model_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/model"
)

func TestParseSaysHow(t *testing.T) {
	for name, want := range map[string]string{
		"model:stream": "each change at once",
		"model:stream:delay=50ms:proxies=3:spread=20ms": "each change 50ms later; 3 proxies, the last 20ms behind the first",
		"model:reload":          "all changes at each reload of the script",
		"model:reload:batch=0s": "a reload at each change",
		"model:reload:interval=2s:batch=100ms:drain=10s": "a reload 100ms after the first change, at most every 2s; " +
			"old workers keep the old view for 10s",
		"model:dns":        "all names again every 5s",
		"model:dns:ttl=1m": "all names again every 1m0s",
	} {
		spec, err := model.Parse(name)
		if err != nil || spec.Name != name || spec.How(lab.Policy{}) != want {
			t.Errorf("%s: %q, %v, want %q", name, spec.How(lab.Policy{}), err, want)
		}
	}
}

func TestParseRefusesInOneLineWithTheRemedy(t *testing.T) {
	for name, want := range map[string]string{
		"nginx":                          "nginx: not the name of a model: write model:stream, model:reload or model:dns",
		"model":                          "model: not the name of a model: write model:stream, model:reload or model:dns",
		"model:":                         `model:: no model "": the models are stream, reload, dns`,
		"model:reloda":                   `model:reloda: no model "reloda": did you mean "reload"? the models are stream, reload, dns`,
		"model:reload:intervall=2s":      `model:reload:intervall=2s: no parameter "intervall": did you mean "interval"? the reload model takes interval, batch, drain, proxies, spread`,
		"model:stream:":                  `model:stream:: no parameter "": the stream model takes delay, proxies, spread`,
		"model:stream:ttl=2s":            "model:stream:ttl=2s: ttl is for the dns model: the stream model takes delay, proxies, spread",
		"model:reload:batch=-1s":         `model:reload:batch=-1s: batch "-1s" is negative: give a time of 0s to 24h0m0s, such as 500ms or 2s`,
		"model:reload:drain=25h":         `model:reload:drain=25h: drain "25h" is too long: give a time of 0s to 24h0m0s, such as 500ms or 2s`,
		"model:reload:interval":          `model:reload:interval: interval "" is no duration: give a time of 0s to 24h0m0s, such as 500ms or 2s`,
		"model:dns:ttl=0s":               `model:dns:ttl=0s: ttl "0s" is too short: give a time of 1ms to 24h0m0s, such as 500ms or 2s`,
		"model:stream:proxies=1000000":   `model:stream:proxies=1000000: proxies "1000000" is no count of proxies: give a whole number of 1 to 100`,
		"model:stream:proxies=0":         `model:stream:proxies=0: proxies "0" is no count of proxies: give a whole number of 1 to 100`,
		"model:stream:spread=1s":         "model:stream:spread=1s: one proxy alone has no spread: add proxies=2 or more",
		"model:stream:delay=1s:delay=1s": "model:stream:delay=1s:delay=1s: delay is given twice: give it once",
	} {
		_, err := model.Parse(name)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestParseErrorsAreTyped(t *testing.T) {
	_, err := model.Parse("model:none")
	if _, ok := errors.AsType[*model.UnknownModelError](err); !ok {
		t.Errorf("%v is no UnknownModelError", err)
	}
	_, err = model.Parse("model:dns:ttl=x")
	if _, ok := errors.AsType[*model.SpecError](err); !ok {
		t.Errorf("%v is no SpecError", err)
	}
}

func TestParseTakesAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(
			`model:(stream|reload|dns)(:(delay|interval|batch|drain|ttl|proxies|spread)=-?[0-9]{1,20}(ms|s|h)?){0,3}`)).Draw(t, "name")
		if spec, err := model.Parse(name); err == nil && spec.Name != name || err != nil && !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%q: %+v, %v", name, spec, err)
		}
	})
}

func TestRunRefusesWhatNoModelCanPlay(t *testing.T) {
	for name, c := range map[string]struct {
		events []lab.Event
		want   string
	}{
		"a reload of a stream": {
			[]lab.Event{{At: second, Kind: lab.Reload, Proxy: "model:stream", Line: 7}},
			"model:stream: line 7: reload at 1s is for this proxy, and the stream model does not reload: name a proxy that reloads, or none for all that do",
		},
		"back in time": {
			[]lab.Event{{At: 2 * second, Kind: lab.Add, Backend: "a"}, {At: second, Kind: lab.Remove, Backend: "a"}},
			"model:stream: remove at 1s comes after 2s: sort the events by time, from 0s",
		},
		"before the start": {
			[]lab.Event{{At: -second, Kind: lab.Add, Backend: "a"}},
			"model:stream: add at -1s comes after 0s: sort the events by time, from 0s",
		},
		"after the end": {
			[]lab.Event{{At: 6 * second, Kind: lab.Add, Backend: "a"}},
			"model:stream: add at 6s is after the end of the run, 5s: make the run longer",
		},
		"no kind": {
			[]lab.Event{{Kind: "drop", Backend: "a"}},
			"model:stream: drop at 0s is no kind of event: use add, remove, lose or reload",
		},
	} {
		spec, err := model.Parse("model:stream")
		must(t, err)
		_, err = model.Run(spec, lab.Timeline{Length: 5 * second, Events: c.events})
		if _, ok := errors.AsType[*model.EventError](err); !ok || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, c.want)
		}
	}
}

func TestModelsTakeAllTheirParameters(t *testing.T) {
	for _, m := range model.Models() {
		name := "model:" + string(m)
		for _, p := range model.Parameters(m) {
			name += ":" + p + map[bool]string{true: "=2", false: "=2s"}[p == "proxies"]
		}
		if _, err := model.Parse(name); err != nil {
			t.Error(err)
		}
		if _, err := model.Parse(name + ":proxies=2"); err == nil {
			t.Errorf("%s: proxies is not among the parameters", m)
		}
	}
}
