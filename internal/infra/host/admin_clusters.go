package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// emptyClusters are the clusters without a host: their names have not resolved,
// or nothing is ready behind them.
func (a admin) emptyClusters(ctx context.Context) ([]string, error) {
	body, err := a.get(ctx, "/clusters?format=json")
	if err != nil {
		return nil, err
	}
	return parseEmptyClusters(body)
}

func parseEmptyClusters(body []byte) ([]string, error) {
	var page struct {
		Clusters []struct {
			Name  string            `json:"name"`
			Hosts []json.RawMessage `json:"host_statuses"`
		} `json:"cluster_statuses"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("read envoy's clusters: %w", err)
	}
	var empty []string
	for _, c := range page.Clusters {
		if len(c.Hosts) == 0 {
			empty = append(empty, c.Name)
		}
	}
	slices.Sort(empty)
	return empty, nil
}
