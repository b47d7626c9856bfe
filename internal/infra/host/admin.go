package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// admin talks to one Envoy's admin interface over its Unix socket.
type admin struct {
	socket string
	client *http.Client
}

func newAdmin(socket string) admin {
	var dialer net.Dialer
	return admin{socket: socket, client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		// A kept connection would be one more thing to close, and would count as open in Envoy.
		DisableKeepAlives: true,
	}}}
}

func (a admin) get(ctx context.Context, path string) ([]byte, error) {
	return a.call(ctx, http.MethodGet, path)
}

func (a admin) post(ctx context.Context, path string) error {
	_, err := a.call(ctx, http.MethodPost, path)
	return err
}

func (a admin) call(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://envoy"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask envoy through %s: %w", a.socket, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read envoy's answer to %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &statusError{path: path, status: response.StatusCode, body: firstLine(body)}
	}
	return body, nil
}

// statusError is an answer other than 200.
type statusError struct {
	path   string
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("envoy answers %d to %s: %s", e.status, e.path, e.body)
}

// ready returns nil once Envoy is live.
func (a admin) ready(ctx context.Context) error {
	_, err := a.get(ctx, "/ready")
	return err
}

// answers returns nil once Envoy answers at all, live or not.
func (a admin) answers(ctx context.Context) error {
	err := a.ready(ctx)
	if _, answered := errors.AsType[*statusError](err); answered {
		return nil
	}
	return err
}

func (a admin) setLogLevel(ctx context.Context, level string) error {
	return a.post(ctx, "/logging?level="+url.QueryEscape(level))
}

// stopListening closes the listening sockets at once, and has connections close
// after the request they carry.
func (a admin) stopListening(ctx context.Context) error {
	if err := a.post(ctx, "/drain_listeners?graceful&skip_exit"); err != nil {
		return err
	}
	return a.post(ctx, "/drain_listeners")
}

func (a admin) warmingListeners(ctx context.Context) (int, error) {
	const gauge = "listener_manager.total_listeners_warming"
	stats, err := a.stats(ctx, "^"+gauge+"$")
	return int(stats[gauge]), err
}

// stats returns counters and gauges whose names match a regular expression.
func (a admin) stats(ctx context.Context, filter string) (map[string]uint64, error) {
	body, err := a.get(ctx, "/stats?format=json&filter="+url.QueryEscape(filter))
	if err != nil {
		return nil, err
	}
	return parseStats(body)
}

func parseStats(body []byte) (map[string]uint64, error) {
	var answer struct {
		Stats []struct {
			Name  string `json:"name"`
			Value uint64 `json:"value"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read envoy's statistics: %w", err)
	}
	stats := make(map[string]uint64, len(answer.Stats))
	for _, s := range answer.Stats {
		stats[s.Name] = s.Value
	}
	return stats, nil
}

const (
	connectionsActive = ".downstream_cx_active"
	requestsActive    = ".downstream_rq_active"
)

// notTraffic are the admin interface's own connections, and each worker's share of a listener's.
var notTraffic = regexp.MustCompile(`^(http|listener)\.admin\.|\.worker_\d+\.downstream_cx_active$`)

// load is what Envoy is occupied with.
type load struct {
	// open counts connections; busy counts HTTP requests, and connections that
	// carry something other than HTTP. An HTTP connection without a request is
	// not busy: a client may hold it open for as long as it likes.
	open, busy uint64
}

func (a admin) load(ctx context.Context) (load, error) {
	stats, err := a.stats(ctx, `downstream_(cx|rq)_active$`)
	if err != nil {
		return load{}, err
	}
	return countLoad(stats), nil
}

func countLoad(stats map[string]uint64) load {
	var requests, connections, http uint64
	for name, n := range stats {
		switch {
		case notTraffic.MatchString(name):
		case strings.HasSuffix(name, requestsActive):
			requests += n
		case strings.HasPrefix(name, "http."):
			http += n
		default:
			connections += n
		}
	}
	return load{open: connections, busy: requests + connections - min(http, connections)}
}
