package cluster_test

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// What listens at an address of the cluster's machines is met there.
func TestInside(t *testing.T) {
	c := cluster.Shared(t)
	const address = "10.98.0.7:5432"
	l, err := c.Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
	}()
	conn, err := c.Dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if said, err := io.ReadAll(conn); err != nil || string(said) != "hello" {
		t.Errorf("inside: %q, %v", said, err)
	}
}

func TestProcessesInside(t *testing.T) {
	c := cluster.Shared(t)
	read := func() string {
		out, err := exec.CommandContext(t.Context(), "cat", "/proc/net/dev").Output()
		if err != nil {
			t.Error(err)
		}
		return string(out)
	}
	var inside string
	if err := c.Inside(func() error { inside = read(); return nil }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(inside, "pods0") || strings.Contains(read(), "pods0") {
		t.Errorf("interfaces inside: %s\nand afterwards outside: %s", inside, read())
	}
}
