package process

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// TestUser: processes in namespaces may do nothing, but listen at a low port where one is
// asked for, and need no folder above theirs to be open.
func TestUser(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, c := range []struct {
		port   int
		rights uint64
	}{{3128, 0}, {443, 1 << unix.CAP_NET_BIND_SERVICE}} {
		t.Run(fmt.Sprint(c.port), func(t *testing.T) {
			w := newWorld(t, &Network{})
			if err := os.Mkdir(w.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			p := w.Open(t, "ours").(*Provider)
			r := request("ours", uid)
			r.Port = c.port
			if _, err := p.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			runs(t, p)
			i, err := p.store.read(provider.NameFromUID(uid))
			if err != nil {
				t.Fatal(err)
			}
			rights := fmt.Sprintf("%016x", c.rights)
			want := map[string]string{
				"Uid": "65534 65534 65534 65534", "Gid": "65534 65534 65534 65534", "Groups": "",
				"CapPrm": rights, "CapEff": rights,
			}
			if got := status(t, i.Process.PID, want); !maps.Equal(got, want) {
				t.Errorf("it runs with %v, want %v", got, want)
			}
			ends(t, p)
			clean(t, w.dir)
		})
	}
}

// status returns what proc_pid_status(5) says of a process under the keys of want.
func status(t *testing.T, pid int, want map[string]string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if _, is := want[key]; is {
			got[key] = strings.Join(strings.Fields(value), " ")
		}
	}
	return got
}
