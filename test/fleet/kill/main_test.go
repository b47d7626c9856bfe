package kill_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/orphan"
)

// programs is where those are that the tests run.
var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "gatehouse-kill-")
	if err == nil {
		err = orphan.Adopt()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs = dir
	code = m.Run()
	if err := cluster.EndShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	for _, left := range orphan.End(10 * time.Second) {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		code = 1
	}
	return code
}
