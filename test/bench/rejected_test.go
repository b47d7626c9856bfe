package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

const (
	goodOnes = 100
	poison   = "poison-mark"
)

// doesNotCompile is a route with an expression that RE2 refuses.
func doesNotCompile(i int, host string) string {
	head, _, _ := strings.Cut(fmt.Sprintf(routeYAML, i, host+".example.com", "", "red"), "  - filters:")
	return head + `  - matches: [{path: {type: RegularExpression, value: "/("}}]
    backendRefs: [{name: red, port: 80}]
`
}

// many writes one file with routes that each have a host, all changed to a mark, and one
// bad one among them.
func (s *shop) many(mark, bad string) error {
	var text strings.Builder
	for i := range goodOnes + 1 {
		one := fmt.Sprintf(routeYAML, 800_000+i, manyHost(i), mark, "red")
		if i == goodOnes/3 {
			one = bad
		}
		text.WriteString(one + "---\n")
	}
	return s.write("many.yaml", text.String())
}

func manyHost(i int) string { return fmt.Sprintf("m%d.example.com", i) }

// BenchmarkGoodOnesBesideABadOne measures one bad object that arrives with 100 good
// ones: from the rename of their file to the answer of the last of the good ones. Named
// is a fault that the compiler finds; unnamed is one that a validator refuses without
// naming anything, with the proving Envoy asked about each trial, too.
func BenchmarkGoodOnesBesideABadOne(b *testing.B) {
	named := func(k int) string { return doesNotCompile(900_000, fmt.Sprint("bad", k)) }
	unnamed := func(k int) string {
		return fmt.Sprintf(routeYAML, 900_000, "bad.example.com", fmt.Sprint(poison, k), "red")
	}
	for _, n := range []int{3000, 10_000} {
		b.Run(fmt.Sprintf("named/N=%d", n), func(b *testing.B) { besideABadOne(b, n, named) })
		b.Run(fmt.Sprintf("unnamed/N=%d", n), func(b *testing.B) {
			besideABadOne(b, n, unnamed, "--validators", forbids(b, poison))
		})
	}
}

// forbids writes a file of validators with one that refuses a text and names nothing.
func forbids(tb testing.TB, text string) string {
	tb.Helper()
	dir := tb.TempDir()
	program := filepath.Join(dir, "validator")
	build := exec.CommandContext(tb.Context(), "go", "build", "-o", program, "github.com/gatehouse-proxy/gatehouse/test/validator")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build the validator: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "validators.yaml")
	content := fmt.Sprintf("- name: forbids\n  command: [%q, -changed, -forbid, %q]\n", program, text)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func besideABadOne(b *testing.B, n int, bad func(k int) string, args ...string) {
	b.Helper()
	s, err := newShop(b.Context(), b.TempDir(), n)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.close)
	instance := launchIn(b, s, b.TempDir(), args...)
	clients := make([]*rig.Client, goodOnes+1) // each keeps its connection
	for i := range clients {
		clients[i] = rig.NewClient(rig.Request{Port: s.port, Host: manyHost(i)})
		b.Cleanup(clients[i].Close)
	}
	run(b, instance, func(k int) (time.Duration, error) {
		mark := fmt.Sprint("m", k)
		if err := s.many(mark, bad(k)); err != nil {
			return 0, err
		}
		began := time.Now()
		for i := range goodOnes + 1 {
			if i == goodOnes/3 {
				continue
			}
			if _, err := seen(b.Context(), clients[i], rig.Request{Port: s.port, Host: manyHost(i)}, "red", mark); err != nil {
				return 0, err
			}
		}
		return time.Since(began), nil
	})
	found, err := fetch(b.Context(), "http://"+instance.Admin+"/v1/rejections")
	if err != nil || !strings.Contains(string(found), "r900000") {
		b.Errorf("the bad one is not rejected: %v %s", err, found)
	}
}

// BenchmarkColdStartBesideBadOnes measures from the start of the process to the first
// answer of the last of 3,000 routes, of which 50 are bad.
func BenchmarkColdStartBesideBadOnes(b *testing.B) {
	const n, bad = 3000, 50
	binary := binary(b)
	for b.Loop() {
		s, err := newShop(b.Context(), b.TempDir(), n)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(s.close)
		for i := range bad {
			if err := s.write(fmt.Sprintf("bad-%d.yaml", i), doesNotCompile(900_000+i, fmt.Sprint("bad", i))); err != nil {
				b.Fatal(err)
			}
		}
		instance := coldStart(b, binary, s, n)
		b.ReportMetric(0, "ns/op")
		if err := instance.Stop(); err != nil {
			b.Error(err)
		}
	}
}
