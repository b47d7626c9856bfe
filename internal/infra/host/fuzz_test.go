package host

import (
	"strconv"
	"testing"
)

// FuzzParseStat: the command may hold anything.
func FuzzParseStat(f *testing.F) {
	f.Add("cat", uint64(109980))
	f.Add(") Z 1 (", uint64(0))
	f.Fuzz(func(t *testing.T, command string, ticks uint64) {
		stat := "1 (" + command + ") S 1 1 1 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 1 0 " + strconv.FormatUint(ticks, 10) + " 3133440 409"
		if got, err := parseStat(stat); err != nil || got != ticks {
			t.Errorf("%q: %d, error %v", stat, got, err)
		}
	})
}

// FuzzParseStats: what is not there is not counted.
func FuzzParseStats(f *testing.F) {
	f.Add([]byte(`{"stats":[{"name":"server.live","value":1},{"histograms":{}}]}`))
	f.Add([]byte(`{"stats":[{"name":"x","value":-1}]}`))
	f.Add([]byte(`{"stats":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		stats, err := parseStats(body)
		if err != nil && stats != nil || len(stats) == 0 && countLoad(stats) != (load{}) {
			t.Errorf("%d statistics, error %v", len(stats), err)
		}
	})
}
