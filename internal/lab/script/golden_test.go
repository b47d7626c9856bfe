package script_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
)

// Each file of testdata has scripts in/NAME and, in out/NAME, the timeline of each or
// what is wrong with it. A comment "# duration: 20s" lays it out over that time;
// otherwise it takes what it needs.
func TestGoldens(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", func(t *testing.T, f *golden.File) {
		got := map[string][]byte{}
		for _, name := range f.Names("in/") {
			short := strings.TrimPrefix(name, "in/")
			got[short] = []byte(listing(short+".yaml", f.Input(name)))
		}
		f.CheckAll("out/", got)
	})
}

var durationComment = regexp.MustCompile(`(?m)^# duration: (\S+)$`)

// listing returns the timeline of a script as text, or the error.
func listing(file string, text []byte) string {
	var duration time.Duration
	if m := durationComment.FindSubmatch(text); m != nil {
		duration, _ = time.ParseDuration(string(m[1]))
	}
	s, err := script.Parse(file, text)
	if err != nil {
		return err.Error() + "\n"
	}
	timeline, err := s.Timeline(duration)
	if err != nil {
		return err.Error() + "\n"
	}
	return show(timeline)
}

func show(timeline lab.Timeline) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %v", timeline.Name, time.Duration(timeline.Length))
	if p := timeline.Reload; p.OnChange {
		fmt.Fprintf(&out, ", reload on change, interval %v, batch %v", time.Duration(p.Interval), time.Duration(p.Batch))
	}
	out.WriteByte('\n')
	for _, e := range timeline.Events {
		fmt.Fprintf(&out, "%8.3f  %s", e.At.Seconds(), e.Kind)
		if name := e.Backend + e.Proxy; name != "" {
			out.WriteString(" " + name)
		}
		if e.Address != e.Backend {
			fmt.Fprintf(&out, " (%s)", e.Address)
		}
		if e.End != "" {
			fmt.Fprintf(&out, ", %s", e.End)
		}
		if e.Grace > 0 {
			fmt.Fprintf(&out, " after %v", time.Duration(e.Grace))
		}
		fmt.Fprintf(&out, "  # line %d\n", e.Line)
	}
	return out.String()
}
