package nginx

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// logPoll is how often the log is read again while the last request is missing.
const logPoll = 5 * time.Millisecond

// Attempts counts the upstream addresses of each line of the access log, which nginx
// writes when a request ends. A request of its own shows that the log is up to date.
func (n *nginx) Attempts(ctx context.Context) (map[uint64]int, error) {
	before, err := n.accessLog()
	if err != nil {
		return nil, err
	}
	if _, _, err := proxy.Get(ctx, proxy.Fresh(""), "http://"+proxy.ListenAddress+markPath); err != nil {
		return nil, fmt.Errorf("mark nginx's log: %w", err)
	}
	tick := time.NewTicker(logPoll)
	defer tick.Stop()
	for {
		log, err := n.accessLog()
		if err != nil {
			return nil, err
		}
		if bytes.Contains(log[len(before):], []byte(mark)) {
			return countTries(log), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("read nginx's log: %w", context.Cause(ctx))
		}
	}
}

// mark is the line of a request without an id and without a backend.
const mark = "- -\n"

func (n *nginx) accessLog() ([]byte, error) {
	log, err := os.ReadFile(filepath.Join(n.options.Dir, "access.log"))
	if err != nil {
		return nil, fmt.Errorf("read nginx's log: %w", err)
	}
	return log, nil
}

// countTries reads lines of the form "17 10.0.1.11:8080, 10.0.1.12:8080"; "17 -" is a
// request that reached no backend. A name of the upstream stands for "none was left".
func countTries(log []byte) map[uint64]int {
	tried := map[uint64]int{}
	for line := range strings.Lines(string(log)) {
		request, addresses, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id, err := strconv.ParseUint(request, 10, 64)
		if err != nil {
			continue
		}
		tried[id] = 0
		for address := range strings.SplitSeq(addresses, ", ") {
			if strings.Contains(address, ":") {
				tried[id]++
			}
		}
	}
	return tried
}
