package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Reading says in a few sentences what a run shows: which proxy was wrong longest and
// what that cost, which were right, and what did not run.
func Reading(r lab.Result) []string {
	var ran, skipped, failed []lab.Proxy
	for _, p := range r.Proxies {
		switch {
		case p.Skipped != "":
			skipped = append(skipped, p)
			continue
		case p.Failed != "":
			failed = append(failed, p)
		}
		ran = append(ran, p)
	}
	var out []string
	if len(ran) > 0 {
		worst := slices.MaxFunc(wholeRuns(ran), byLongest)
		out = append(out, longest(worst)+".")
		out = append(out, costliest(ran, worst)...)
		out = append(out, steadiest(ran)...)
	}
	out = append(out, overload(r)...)
	return append(out, absent(skipped, failed)...)
}

// wholeRuns leaves out the proxies that ended early, unless all did.
func wholeRuns(ran []lab.Proxy) []lab.Proxy {
	whole := slices.DeleteFunc(slices.Clone(ran), func(p lab.Proxy) bool { return p.Failed != "" })
	if len(whole) == 0 {
		return ran
	}
	return whole
}

func byLongest(a, b lab.Proxy) int {
	return cmp.Or(cmp.Compare(a.Wrong.StaleWindow().Max, b.Wrong.StaleWindow().Max),
		cmp.Compare(a.Wrong.StaleSeconds, b.Wrong.StaleSeconds))
}

func longest(p lab.Proxy) string {
	window := p.Wrong.StaleWindow().Max
	if window == 0 {
		return "No proxy was ever wrong"
	}
	text := fmt.Sprintf("%s was wrong longest: %s at a stretch, %s backend-seconds missing and %s stale", p.Name, Seconds(window),
		Integral(p.Wrong.MissingSeconds), Integral(p.Wrong.StaleSeconds))
	if p.Requests == nil {
		return text
	}
	return text + "; " + cost(*p.Requests)
}

func cost(r lab.Requests) string {
	text := "no request failed"
	if r.Failed > 0 {
		text = fmt.Sprintf("%s of %s failed (%s)", Number(r.Failed), plural(r.Due, "request", "requests"), percent(r.Failed, r.Due))
	}
	if r.InVain == 0 {
		return text
	}
	text += ", " + plural(r.InVain, "try", "tries") + " went to the dead in vain"
	if r.RetriedAway > 0 {
		text += " (" + plural(r.RetriedAway, "request was", "requests were") + " answered only on a retry)"
	}
	return text
}

// costliest says which proxy failed most requests, unless the reader has it already.
func costliest(ran []lab.Proxy, worst lab.Proxy) []string {
	failed := func(p lab.Proxy) int {
		if p.Requests == nil {
			return 0
		}
		return p.Requests.Failed
	}
	most := slices.MaxFunc(ran, func(a, b lab.Proxy) int { return cmp.Compare(failed(a), failed(b)) })
	if failed(most) <= failed(worst) {
		return nil
	}
	return []string{fmt.Sprintf("Most requests failed at %s: %s.", most.Name, cost(*most.Requests))}
}

// steadiest names the proxies that were never wrong, or the one that was least.
func steadiest(ran []lab.Proxy) []string {
	var right []string
	for _, p := range ran {
		if p.Wrong.StaleWindow().Max == 0 && p.Failed == "" {
			right = append(right, p.Name)
		}
	}
	whole := wholeRuns(ran)
	switch {
	case len(right) == len(ran) || len(whole) < 2:
		return nil
	case len(right) > 0:
		return []string{"Never wrong: " + strings.Join(right, ", ") + "."}
	}
	best := slices.MinFunc(whole, byLongest)
	return []string{fmt.Sprintf("Least wrong: %s, for at most %s at a stretch.", best.Name, Seconds(best.Wrong.StaleWindow().Max))}
}

func absent(skipped, failed []lab.Proxy) []string {
	var out []string
	if len(skipped) > 0 {
		out = append(out, "Not run: "+names(skipped)+".")
	}
	if len(failed) > 0 {
		out = append(out, "Ended early, so its numbers are of a part of the run: "+names(failed)+".")
	}
	return out
}

func names(proxies []lab.Proxy) string {
	var out []string
	for _, p := range proxies {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}
