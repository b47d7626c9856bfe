package standalone

import (
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	long, just := now.Add(-time.Minute), now.Add(-time.Second)
	for name, c := range map[string]struct {
		loss  loss
		want  decision
		after time.Duration
	}{
		"nothing is missing":            {loss{total: 3, files: 1}, letGo, 0},
		"one of three":                  {loss{missing: 1, total: 3, files: 1, newest: long, oldest: long}, letGo, 0},
		"half":                          {loss{missing: 2, total: 4, files: 1, newest: long, oldest: long}, letGo, 0},
		"more than half":                {loss{missing: 3, total: 5, files: 1, newest: long, oldest: long}, holdHalf, 0},
		"the only one":                  {loss{missing: 1, total: 1, files: 1, newest: long, oldest: long}, holdHalf, 0},
		"more than half, allowed":       {loss{missing: 3, total: 5, files: 1, newest: long, oldest: long, allowed: true}, letGo, 0},
		"no document, allowed":          {loss{missing: 1, total: 5, newest: long, oldest: long, allowed: true}, holdNone, 0},
		"no document, just now":         {loss{missing: 1, total: 5, newest: just, oldest: just}, holdNone, 0},
		"more may be on its way":        {loss{missing: 1, total: 5, files: 4, newest: just, oldest: just}, wait, settleTime - time.Second},
		"it has been going for a while": {loss{missing: 2, total: 5, files: 3, newest: just, oldest: long}, letGo, 0},
		"allowed ones wait too":         {loss{missing: 3, total: 5, files: 3, newest: just, oldest: just, allowed: true}, wait, settleTime - time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got, after := c.loss.judge(now); got != c.want || after != c.after {
				t.Errorf("decision %d after %s, want %d after %s", got, after, c.want, c.after)
			}
		})
	}
}
