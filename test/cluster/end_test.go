package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// victim, in the environment, makes this program one that starts a cluster and waits to
// be killed.
const victim = "GATEHOUSE_CLUSTER_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victim) != "" {
		suffer()
	}
	os.Exit(m.Run())
}

// suffer says which network its cluster has.
func suffer() {
	c, err := cluster.New(context.Background())
	if err == nil {
		err = c.Inside(func() error {
			name, err := os.Readlink("/proc/thread-self/ns/net")
			fmt.Println(name)
			return err
		})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestNothingOutlivesItsParent kills a process that has a cluster.
func TestNothingOutlivesItsParent(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), victim+"=yes")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	network, err := bufio.NewReader(out).ReadString('\n')
	network = strings.TrimSpace(network)
	if err != nil || !strings.HasPrefix(network, "net:[") {
		t.Fatalf("no cluster: %q, %v", network, err)
	}
	before := members(network)
	if len(before) < 4 { // the first process and three programs
		t.Errorf("in the cluster's network are %q", before)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "all processes of the cluster are gone", func(context.Context) bool { return len(members(network)) == 0 })
}

// members are the processes in a network.
func members(network string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil && name == network {
			found = append(found, link)
		}
	}
	return found
}
