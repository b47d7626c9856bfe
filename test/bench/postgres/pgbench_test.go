package postgres_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// run is one turn of pgbench.
type run struct {
	tps      float64
	p50, p99 float64 // milliseconds; 0 without a log
	cpu      float64 // microseconds of the proxy for each transaction
}

var (
	processed = regexp.MustCompile(`actually processed: (\d+)`)
	speed     = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)
)

// pgbench runs for one turn on some processors. It fails the benchmark if a
// transaction does.
func pgbench(b *testing.B, w way, cpus string, clients int, args ...string) run {
	b.Helper()
	dir, err := os.MkdirTemp("", "gatehouse-pgbench-")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args = append([]string{
		"pgbench", "-n", "-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(clients, 2)),
		"-T", strconv.Itoa(seconds()), "--log",
	}, args...)
	if cpus != "" {
		args = append([]string{"taskset", "-c", cpus}, args...)
	}
	cmd := exec.CommandContext(b.Context(), args[0], append(args[1:], w.dsn())...)
	cmd.Dir = dir
	before := w.process.cpu(b)
	out, err := cmd.CombinedOutput()
	used := w.process.cpu(b) - before
	if err != nil || bytes.Contains(out, []byte("aborted")) {
		b.Fatalf("pgbench through %s: %v\n%s\n%s", w.name, err, out, w.process.log)
	}
	r := run{tps: found(b, speed, out), cpu: used * 1e6 / found(b, processed, out)}
	if took := latencies(b, dir); len(took) > 0 {
		r.p50, r.p99 = took[len(took)/2]/1000, took[len(took)*99/100]/1000
	}
	return r
}

func found(b *testing.B, pattern *regexp.Regexp, text []byte) float64 {
	b.Helper()
	m := pattern.FindSubmatch(text)
	if m == nil {
		b.Fatalf("pgbench says %s", text)
	}
	f, _ := strconv.ParseFloat(string(m[1]), 64)
	return f
}

// latencies reads pgbench's logs: the third word is microseconds. They are sorted.
func latencies(b *testing.B, dir string) []float64 {
	b.Helper()
	paths, _ := filepath.Glob(dir + "/pgbench_log.*")
	var all []float64
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			words := bytes.Fields(lines.Bytes())
			if len(words) > 2 {
				us, _ := strconv.ParseFloat(string(words[2]), 64)
				all = append(all, us)
			}
		}
		_ = f.Close()
	}
	slices.Sort(all)
	return all
}

// results are the turns of one way.
type results []run

func (r results) of(figure func(run) float64) series {
	out := make(series, len(r))
	for i := range r {
		out[i] = figure(r[i])
	}
	return out
}

func tps(r run) float64 { return r.tps }
func p50(r run) float64 { return r.p50 }
func p99(r run) float64 { return r.p99 }
func cpu(r run) float64 { return r.cpu }

// interleave gives every way a turn in each round.
func interleave(ways []way, turn func(way) run) map[string]results {
	all := make(map[string]results)
	for range rounds() {
		for _, w := range ways {
			all[w.name] = append(all[w.name], turn(w))
		}
	}
	return all
}
