package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Seconds writes how long something took, for example "0", "0.4 ms", "12 ms", "3.1 s",
// "125 s".
func Seconds[D ~int64](d D) string {
	switch t := time.Duration(d); {
	case t <= 0:
		return "0"
	case t < time.Millisecond:
		return fmt.Sprintf("%.1f ms", t.Seconds()*1000)
	case t < 999500*time.Microsecond:
		return fmt.Sprintf("%.0f ms", t.Seconds()*1000)
	case t < 99950*time.Millisecond:
		return fmt.Sprintf("%.1f s", t.Seconds())
	default:
		return fmt.Sprintf("%.0f s", t.Seconds())
	}
}

// Integral writes backend-seconds, for example "0", "0.02", "3.1", "125".
func Integral(seconds float64) string {
	switch {
	case seconds < 0.005:
		return "0"
	case seconds < 0.995:
		return fmt.Sprintf("%.2f", seconds)
	case seconds < 99.95:
		return fmt.Sprintf("%.1f", seconds)
	}
	return fmt.Sprintf("%.0f", seconds)
}

// Memory writes bytes, for example "12 MiB", "7.6 GiB".
func Memory(bytes int64) string {
	const mebi = 1 << 20
	if bytes >= 4<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", math.Ceil(float64(bytes)/mebi))
}

// Number writes n with a comma at each thousand.
func Number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Names lists backends in at most room runes, or as the first and how many more there
// are: "10.0.1.11 +11 more".
func Names(names []string, room int) string {
	if len(names) == 0 {
		return "none"
	}
	if all := strings.Join(names, ", "); len(names) > 1 && utf8.RuneCountInString(all) <= room {
		return all
	}
	first := Short(names[0], room)
	if len(names) == 1 {
		return first
	}
	return fmt.Sprintf("%s +%s more", first, Number(len(names)-1))
}

// Short cuts the middle out of text so that at most room runes are left, of which the
// last tell most names apart.
func Short(text string, room int) string {
	runes := []rune(text)
	if len(runes) <= room {
		return text
	}
	head := (room - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(room-1-head):])
}

// percent writes a share of n in all, for example "1.2 %", "<0.1 %".
func percent(n, all int) string {
	switch share := 100 * float64(n) / float64(max(all, 1)); {
	case n == 0:
		return "0 %"
	case share < 0.1:
		return "<0.1 %"
	case share < 9.95:
		return fmt.Sprintf("%.1f %%", share)
	default:
		return fmt.Sprintf("%.0f %%", share)
	}
}

// plural writes n with its noun, for example "1 request", "3,000 requests".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// outcomes in the order in which reports list them, with what they are called.
var outcomes = []struct {
	outcome lab.Outcome
	word    string
}{
	{lab.Refused, "refused"}, {lab.Reset, "reset"}, {lab.TimedOut, "timeout"}, {lab.Status, "status"},
}

// FailedBy lists how requests failed, for example "31 timeout, 6 status"; empty for none.
func FailedBy(r lab.Requests) string {
	var parts []string
	for _, o := range outcomes {
		if n := r.FailedBy[o.outcome]; n > 0 {
			parts = append(parts, Number(n)+" "+o.word)
		}
	}
	return strings.Join(parts, ", ")
}

// Beside says what else there is to say of an account: how requests failed, and those
// that are counted neither as answered nor as failed. It is empty for nothing.
func Beside(r lab.Requests) string {
	var parts []string
	if by := FailedBy(r); by != "" {
		parts = append(parts, "failed: "+by)
	}
	for _, c := range []struct {
		n    int
		text string
	}{
		{r.AnsweredByRemoved, "more answered, by removed backends"},
		{r.NoBackend, "more failed, while no backend was routable"},
		{r.Unsent, "never sent"},
	} {
		if c.n > 0 {
			parts = append(parts, Number(c.n)+" "+c.text)
		}
	}
	return strings.Join(parts, " · ")
}
