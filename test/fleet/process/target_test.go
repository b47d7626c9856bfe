package process

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// target answers every request with the address that it comes from.
type target struct {
	*httptest.Server
	asked atomic.Int64
}

func newTarget(t *testing.T, address string) *target {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	it := new(target)
	it.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		it.asked.Add(1)
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		_, _ = io.WriteString(w, host)
	}))
	_ = it.Listener.Close()
	it.Listener = l
	it.Start()
	t.Cleanup(it.Close)
	return it
}

// curl asks the target through a proxy, and returns the answer and the status.
func (it *target) curl(t *testing.T, proxy string, flags ...string) (answer, status string) {
	t.Helper()
	arguments := slices.Concat(flags, []string{
		"--silent", "--max-time", "20", "--noproxy", "", "--proxy", proxy, "--write-out", "\n%{http_code}", it.URL,
	})
	out, _ := exec.CommandContext(t.Context(), "curl", arguments...).Output()
	text := string(out)
	last := strings.LastIndexByte(text, '\n')
	return text[:max(0, last)], text[last+1:]
}
