package main

import (
	"errors"
	"strings"
	"testing"
)

const recorded = `{"Action":"output","Package":"p","Test":"TestA","Output":"noise of a\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestB","Output":"why b failed\n"}
{"Action":"fail","Package":"p","Test":"TestB","Elapsed":0.1}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p","Elapsed":0.2}
{"Action":"skip","Package":"empty","Elapsed":0}
not json
`

func TestTallyKeepsOnlyWhatMatters(t *testing.T) {
	var out strings.Builder
	tally := newTally(&out)
	tally.read(strings.NewReader(recorded))

	if tally.passed != 1 || len(tally.failed) != 1 || len(tally.skipped) != 1 {
		t.Errorf("passed %d failed %v skipped %v, want one each", tally.passed, tally.failed, tally.skipped)
	}
	if got := out.String(); !strings.Contains(got, "why b failed") || !strings.Contains(got, "not json") || strings.Contains(got, "noise of a") {
		t.Errorf("output must have the failure and foreign lines, and no noise:\n%s", got)
	}
}

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		failed error
		tally  tally
		left   []string
		want   string
	}{
		"good":    {tally: tally{passed: 1}},
		"failed":  {failed: errors.New("exit status 1"), tally: tally{passed: 1}, want: "tests failed"},
		"skip":    {tally: tally{passed: 1, skipped: []string{"p TestC"}}, want: "1 tests were skipped"},
		"orphan":  {tally: tally{passed: 1}, left: []string{"7 envoy"}, want: "left behind"},
		"nothing": {want: "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			err := verdict(c.failed, &c.tally, c.left)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
