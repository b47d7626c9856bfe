package arena_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const port = ":8080"

// get asks the backend at an address, on a connection of its own.
func get(t *testing.T, address string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+port, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(proxy.HeaderRequest, "17")
	request.Close = true
	return http.DefaultClient.Do(request)
}

func TestABackendAnswersWithItsNameAndTheRequest(t *testing.T) {
	a := newArena(t)
	start(t, a, "one", "10.0.1.11")
	start(t, a, "two", "10.0.1.12")
	answer, err := get(t, "10.0.1.12")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	name, id := answer.Header.Get(proxy.HeaderBackend), answer.Header.Get(proxy.HeaderRequest)
	if name != "two" || id != "17" {
		t.Errorf("answered by %q for request %q, want two and 17", name, id)
	}
}

// TestEnds: what a client meets at an address soon after its backend has ended.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		end  lab.End
		want func(error) bool
	}{
		{lab.Stop, refused},
		{lab.Kill, refused},
		{lab.Vanish, os.IsTimeout},
	} {
		t.Run(string(test.end), func(t *testing.T) {
			a := newArena(t)
			start(t, a, "one", "10.0.1.11")
			end(t, a, "one", test.end)
			var err error
			for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
				if err = connect(200 * time.Millisecond); test.want(err) {
					break
				}
			}
			if !test.want(err) {
				t.Errorf("connect: %v", err)
			}
			start(t, a, "two", "10.0.1.11") // the address is free again
			if answer, err := get(t, "10.0.1.11"); err != nil || answer.Body.Close() != nil || answer.Header.Get(proxy.HeaderBackend) != "two" {
				t.Errorf("the next owner of the address: %v %v", answer, err)
			}
		})
	}
}

func connect(patience time.Duration) error {
	connection, err := net.DialTimeout("tcp", "10.0.1.11"+port, patience)
	if err != nil {
		return err
	}
	return connection.Close()
}

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
