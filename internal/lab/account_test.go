package lab

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Times are small integers, so that borders meet often.
var (
	backends = rapid.SampledFrom([]string{"a", "b", "c"})
	moments  = rapid.Custom(func(t *rapid.T) Moment { return Moment(rapid.IntRange(0, 12).Draw(t, "moment")) })
	spans    = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) BackendSpan {
		return BackendSpan{
			Backend: backends.Draw(t, "backend"),
			From:    moments.Draw(t, "from"), To: moments.Draw(t, "to"),
		}
	}), 0, 8)
	outcomes = rapid.SampledFrom([]Outcome{Answered, Answered, Status, Refused, Reset, TimedOut, Unsent})
	ends     = rapid.Custom(func(t *rapid.T) Request {
		due := moments.Draw(t, "due")
		r := Request{
			Due: due, Sent: due + moments.Draw(t, "late"), Done: due + moments.Draw(t, "latency"),
			Outcome: outcomes.Draw(t, "outcome"), Attempts: rapid.IntRange(0, 3).Draw(t, "attempts"),
		}
		if r.Outcome == Answered {
			r.Backend = backends.Draw(t, "backend")
		}
		return r
	})
	loads = rapid.Custom(func(t *rapid.T) []Request {
		all := rapid.SliceOfN(ends, 0, 40).Draw(t, "requests")
		for i := range all {
			all[i].ID = uint64(i + 1)
		}
		return all
	})
	tries = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) TryInVain {
		return TryInVain{At: moments.Draw(t, "at"), Backend: backends.Draw(t, "backend"), Refused: rapid.Bool().Draw(t, "refused")}
	}), 0, 10)
)

// routableBetween reads the definition as it is written: some moment, one by one.
func routableBetween(truth []BackendSpan, backend string, from, to Moment) bool {
	for at := from; at <= to; at++ {
		for _, span := range truth {
			if span.Contains(at) && (backend == "" || span.Backend == backend) {
				return true
			}
		}
	}
	return false
}

// bruteForce is the account by the words of each field.
func bruteForce(requests []Request, truth []BackendSpan) (a Requests) {
	a.FailedBy = make(map[Outcome]int)
	for _, r := range requests {
		a.Due++
		if r.Outcome == Answered && r.Attempts > 1 {
			a.RetriedAway++
		}
		switch {
		case r.Outcome == Unsent:
			a.Unsent++
		case r.Outcome == Answered && routableBetween(truth, r.Backend, r.Due, r.Done):
			a.Answered++
		case r.Outcome == Answered:
			a.AnsweredByRemoved++
		case routableBetween(truth, "", r.Due, r.Done):
			a.Failed++
			a.FailedBy[r.Outcome]++
		default:
			a.NoBackend++
		}
	}
	return a
}

func TestAccountIsItsDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests, truth, inVain := loads.Draw(t, "load"), spans.Draw(t, "truth"), tries.Draw(t, "in vain")
		got, want := Account(requests, truth, inVain), bruteForce(requests, truth)

		failures, late, latency := got.Failures, got.Lateness, got.Latency
		if len(failures) != got.Failed || got.InVain != len(inVain) || len(got.TriesInVain) != len(inVain) {
			t.Fatalf("%d failures of %d, %d tries in vain of %d", len(failures), got.Failed, len(got.TriesInVain), len(inVain))
		}
		if latency.Max < latency.P99 || latency.P99 < latency.P50 || late.Max < late.P99 || late.P99 < late.P50 {
			t.Fatalf("quantiles out of order: %+v, %+v", latency, late)
		}
		got.Failures, got.TriesInVain, got.InVain, got.Latency, got.Lateness = nil, nil, 0, Quantiles{}, Quantiles{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestEachRequestIsInOneClass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests, truth := loads.Draw(t, "load"), spans.Draw(t, "truth")
		got := Account(requests, truth, nil)
		sum := 0
		for _, n := range got.FailedBy {
			sum += n
		}
		if sum != got.Failed {
			t.Fatalf("failed by %v, but %d failed", got.FailedBy, got.Failed)
		}
		if classes := got.Answered + got.AnsweredByRemoved + got.Failed + got.NoBackend + got.Unsent; classes != got.Due {
			t.Fatalf("%d in classes, %d due", classes, got.Due)
		}
		// One request at a time: each is counted once, and the whole is the sum.
		for _, r := range requests {
			one := Account([]Request{r}, truth, nil)
			got.Answered -= one.Answered
			got.AnsweredByRemoved -= one.AnsweredByRemoved
			got.Failed -= one.Failed
			got.NoBackend -= one.NoBackend
			got.Unsent -= one.Unsent
		}
		if got.Answered != 0 || got.AnsweredByRemoved != 0 || got.Failed != 0 || got.NoBackend != 0 || got.Unsent != 0 {
			t.Fatalf("the whole is not the sum of its parts: %+v", got)
		}
	})
}

func TestAccountKeepsItsInputAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests, truth, inVain := loads.Draw(t, "load"), spans.Draw(t, "truth"), tries.Draw(t, "in vain")
		r, b, d := slices.Clone(requests), slices.Clone(truth), slices.Clone(inVain)
		got := Account(requests, truth, inVain)
		if !slices.Equal(r, requests) || !slices.Equal(b, truth) || !slices.Equal(d, inVain) {
			t.Fatal("the input changed")
		}
		slices.Reverse(requests)
		if diff := cmp.Diff(got, Account(requests, truth, inVain)); diff != "" {
			t.Fatalf("the order of the input matters: %s", diff)
		}
	})
}

func TestAccountAtTheBorders(t *testing.T) {
	truth := []BackendSpan{
		{Backend: "a", From: 10, To: 20},
		{Backend: "b", From: 30, To: 40},
	}
	for name, c := range map[string]struct {
		request Request
		want    Requests
	}{
		"done as it becomes routable":   {Request{Due: 5, Done: 10, Outcome: Answered, Backend: "a"}, Requests{Answered: 1}},
		"done before it is routable":    {Request{Due: 5, Done: 9, Outcome: Answered, Backend: "a"}, Requests{AnsweredByRemoved: 1}},
		"due at its last moment":        {Request{Due: 19, Done: 25, Outcome: Answered, Backend: "a"}, Requests{Answered: 1}},
		"due as it was removed":         {Request{Due: 20, Done: 25, Outcome: Answered, Backend: "a"}, Requests{AnsweredByRemoved: 1}},
		"answered while another was":    {Request{Due: 31, Done: 32, Outcome: Answered, Backend: "a"}, Requests{AnsweredByRemoved: 1}},
		"by one that never was":         {Request{Due: 31, Done: 32, Outcome: Answered, Backend: "x"}, Requests{AnsweredByRemoved: 1}},
		"failed between two backends":   {Request{Due: 20, Done: 29, Outcome: Status, Code: 503}, Requests{NoBackend: 1}},
		"failed as another came":        {Request{Due: 20, Done: 30, Outcome: Status, Code: 503}, Requests{Failed: 1}},
		"failed across a whole stretch": {Request{Due: 25, Done: 50, Outcome: TimedOut}, Requests{Failed: 1}},
		"retried away":                  {Request{Due: 11, Done: 12, Outcome: Answered, Backend: "a", Attempts: 2}, Requests{Answered: 1, RetriedAway: 1}},
		"tried in vain":                 {Request{Due: 11, Done: 12, Outcome: Status, Attempts: 3}, Requests{Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Account([]Request{c.request}, truth, nil)
			if got.Answered != c.want.Answered || got.AnsweredByRemoved != c.want.AnsweredByRemoved ||
				got.Failed != c.want.Failed || got.NoBackend != c.want.NoBackend || got.RetriedAway != c.want.RetriedAway {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestListsAreBoundedAndCountsComplete(t *testing.T) {
	requests, inVain := make([]Request, MaxFailures+7), make([]TryInVain, MaxFailures+9)
	for i := range requests {
		due := Moment(len(requests) - i)
		requests[i] = Request{ID: uint64(due), Due: due, Done: due, Outcome: Refused}
	}
	for i := range inVain {
		inVain[i].At = Moment(len(inVain) - i)
	}
	got := Account(requests, []BackendSpan{{Backend: "a", To: 1 << 40}}, inVain)
	if got.Failed != len(requests) || got.FailedBy[Refused] != len(requests) || got.InVain != len(inVain) {
		t.Errorf("counted %d failed, %d in vain", got.Failed, got.InVain)
	}
	if len(got.Failures) != MaxFailures || got.Failures[0].ID != 1 || got.Failures[MaxFailures-1].ID != MaxFailures {
		t.Errorf("%d failures listed, not the first %d", len(got.Failures), MaxFailures)
	}
	if len(got.TriesInVain) != MaxFailures || got.TriesInVain[0].At != 1 || got.TriesInVain[MaxFailures-1].At != MaxFailures {
		t.Errorf("%d tries in vain listed, not the first %d", len(got.TriesInVain), MaxFailures)
	}
}

// BenchmarkAccount is a run of ten minutes at 500 requests a second with 10,000 changes.
func BenchmarkAccount(b *testing.B) {
	requests := make([]Request, 300_000)
	for i := range requests {
		due := Moment(i * 1000)
		requests[i] = Request{ID: uint64(i), Due: due, Done: due + 500, Outcome: Answered, Backend: "a"}
		if i%3 == 0 {
			requests[i].Outcome = Reset
		}
	}
	truth := make([]BackendSpan, 10_000)
	for i := range truth {
		truth[i] = BackendSpan{Backend: "a", From: Moment(i * 30_000), To: Moment(i*30_000 + 20_000)}
	}
	for b.Loop() {
		Account(requests, truth, nil)
	}
}
