package haproxy_test

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/haproxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

var both = []proxy.Description{haproxy.Reload(), haproxy.Runtime()}

// HAProxy tries the dead server again, and never the live one beside it.
func TestRetriesByDefault(t *testing.T) {
	for _, d := range both {
		t.Run(d.Name, func(t *testing.T) {
			l := proxytest.Start(t, d, proxytest.Options(t, d))
			live, dead := proxytest.Backend(1), proxytest.Backend(2)
			l.Run(live, dead)
			l.Tell(live, dead)
			l.Believes(live, dead)
			l.Kill(dead)

			failed, tries := 0, map[int]int{}
			var asked []proxytest.Answer
			for range 4 { // in turn, by round robin
				a, err := l.Ask(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if asked = append(asked, a); a.Backend == "" {
					failed++
				}
			}
			logged, err := l.Attempts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range asked {
				tries[logged[a.ID]]++
			}
			if failed != 2 || tries[1] != 2 || tries[4] != 2 {
				t.Errorf("%d of 4 failed, tries and how often: %v; want 2, and 2 with 1 try, 2 with 4", failed, tries)
			}
		})
	}
}

func TestRetriesOff(t *testing.T) {
	for _, d := range both {
		t.Run(d.Name, func(t *testing.T) {
			want := proxytest.Fate{Answered: 20, Failed: 20, MostTries: 1}
			if got := proxytest.HalfDead(t, d, true); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
