package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// TestMain makes the test binary the process in the background, too.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{keep}) {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestUpAndDown: of two that start it at once one does, one that was killed is in nobody's
// way, and down leaves nothing.
func TestUpAndDown(t *testing.T) {
	programs, err := cluster.Programs()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(cluster.AssetsVariable, programs)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	say := func(word string) string {
		t.Helper()
		var out rig.Output
		if err := run(t.Context(), []string{word}, &out); err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		return out.String()
	}
	if said := say("down"); !strings.Contains(said, "no cluster is up") {
		t.Errorf("down says %q", said)
	}
	t.Cleanup(func() { _ = run(context.WithoutCancel(t.Context()), []string{"down"}, new(rig.Output)) })
	cache, err := cluster.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	p := place{dir: cache + "/up"}

	other := make(chan error, 1)
	go func() { other <- run(t.Context(), []string{"up"}, new(rig.Output)) }()
	if said := say("up"); !strings.Contains(said, "export KUBECONFIG="+p.kubeconfig()) {
		t.Errorf("up says %q", said)
	}
	if err := <-other; err != nil {
		t.Errorf("the other one: %v", err)
	}
	if said := say("up"); !strings.Contains(said, "up already") {
		t.Errorf("up again says %q", said)
	}

	first := owner(t, p)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for owner(t, p) == first {
		if err := pause(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	say("up")
	if second := owner(t, p); second == 0 || second == first {
		t.Errorf("process %d has it after %d was killed", second, first)
	}
	if said := say("down"); !strings.Contains(said, "the cluster is down") {
		t.Errorf("down says %q", said)
	}
	if _, err := os.Stat(p.kubeconfig()); err == nil {
		t.Error("the kubeconfig is still there")
	}
}

func owner(t *testing.T, p place) int {
	t.Helper()
	pid, err := p.owner()
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
