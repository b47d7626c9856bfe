package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// seen asks until the answer is from the backend with the mark, over a kept
// connection, and returns how long that took.
func seen(ctx context.Context, client *rig.Client, r rig.Request, backend, mark string) (time.Duration, error) {
	start := time.Now()
	for {
		got, err := client.Do(ctx, r)
		if err != nil {
			return 0, err
		}
		if got.Answer.Backend == backend && slices.Contains(got.Answer.Marks, mark) {
			return time.Since(start), nil
		}
		if time.Since(start) > 10*time.Second {
			return 0, fmt.Errorf("%s answers %d %q, want backend %s with mark %s", r.Host, got.Status, got.Body, backend, mark)
		}
	}
}

// status asks until the answer has a status, and returns how long that took.
func status(ctx context.Context, client *rig.Client, r rig.Request, want int) (time.Duration, error) {
	start := time.Now()
	for {
		got, err := client.Do(ctx, r)
		if err != nil {
			return 0, err
		}
		if got.Status == want {
			return time.Since(start), nil
		}
		if time.Since(start) > 10*time.Second {
			return 0, fmt.Errorf("%s answers %d, want %d", r.Host, got.Status, want)
		}
	}
}

// quantile of sorted durations, in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Microseconds()) / 1000
}

// fetch returns a page of the instance.
func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
	}
	return body, nil
}

// counters reads the instance's metrics and sums each over its labels.
func counters(ctx context.Context, i *rig.Instance) (map[string]float64, error) {
	body, err := fetch(ctx, "http://"+i.Metrics+"/metrics")
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		series, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(series, "#") {
			continue
		}
		name, _, _ := strings.Cut(series, "{")
		n, err := strconv.ParseFloat(value[strings.LastIndexByte(value, ' ')+1:], 64)
		if err == nil {
			out[name] += n
		}
	}
	return out, lines.Err()
}
