package haproxy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

// The master says which of its workers crashed, and ends; what it says about itself after
// that says less.
func TestAWorkerThatCrashes(t *testing.T) {
	for _, d := range both {
		t.Run(d.Name, func(t *testing.T) {
			l := proxytest.Start(t, d, proxytest.Options(t, d))
			for pid, name := range proxytest.Processes(t) {
				if strings.Contains(name, "(haproxy)") && !slices.Contains(l.Processes(), pid) {
					if err := unix.Kill(pid, unix.SIGSEGV); err != nil {
						t.Fatal(err)
					}
				}
			}
			select {
			case <-l.Exited():
			case <-time.After(20 * time.Second):
				t.Fatal("Exited is not closed")
			}
			how := l.Ended()
			if how == nil || !strings.HasPrefix(how.Error(), "haproxy ended with exit status 139: ") || !strings.HasSuffix(how.Error(), "exited with code 139 (Segmentation fault)") {
				t.Errorf("it says that it ended as %v, want its exit status and that a worker crashed", how)
			}
		})
	}
}
