package gatehouse

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/envoyfacts"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// belief asks the Envoy that Gatehouse runs. Each start of an Envoy has an admin
// socket of its own, which its record in the state directory names.
type belief struct {
	stateDir string

	mu    sync.Mutex
	admin *envoyfacts.Admin // of the Envoy that answered last
}

func (b *belief) hosts(ctx context.Context) ([]netip.Addr, error) {
	admin, err := b.known()
	if err != nil {
		return nil, err
	}
	hosts, err := admin.Hosts(ctx, cluster)
	if err != nil {
		b.close() // there may be another one by now
	}
	return hosts, err
}

func (b *belief) known() (*envoyfacts.Admin, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.admin != nil {
		return b.admin, nil
	}
	proxies := host.ReadRecords(b.stateDir)
	if len(proxies) == 0 {
		return nil, errors.New("gatehouse runs no Envoy at this moment")
	}
	b.admin = envoyfacts.NewAdmin(proxies[len(proxies)-1].AdminSocket)
	return b.admin, nil
}

func (b *belief) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.admin != nil {
		b.admin.Close()
		b.admin = nil
	}
}

// readLine reads a line of Gatehouse's access log, which has the path of a request and
// no header of ours.
func readLine(line []byte) (envoyfacts.Tried, bool) {
	var entry struct {
		Path     string `json:"path"`
		Attempts int    `json:"attempts"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return envoyfacts.Tried{}, false
	}
	name, ok := strings.CutPrefix(entry.Path, markPath+"/")
	if !ok {
		name, ok = strings.CutPrefix(entry.Path, "/")
	}
	return envoyfacts.Tried{Request: name, Attempts: entry.Attempts}, ok
}

// mark sends a request that reaches no backend.
func mark(ctx context.Context, name string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proxy.ListenAddress+markPath+"/"+name, nil)
	if err != nil {
		return err
	}
	response, err := proxy.Fresh("").Transport.RoundTrip(request) // a redirect is the answer
	if err != nil {
		return err
	}
	return response.Body.Close()
}
