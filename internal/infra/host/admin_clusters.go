package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// clustersWithHosts are the clusters that have a host. The others are warming, or
// their names have not resolved, or nothing stands behind them.
func (a admin) clustersWithHosts(ctx context.Context) ([]string, error) {
	body, err := a.get(ctx, "/clusters?format=json")
	if err != nil {
		return nil, err
	}
	return parseClustersWithHosts(body)
}

func parseClustersWithHosts(body []byte) ([]string, error) {
	var page struct {
		Clusters []struct {
			Name  string            `json:"name"`
			Hosts []json.RawMessage `json:"host_statuses"`
		} `json:"cluster_statuses"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("read envoy's clusters: %w", err)
	}
	var out []string
	for _, c := range page.Clusters {
		if len(c.Hosts) > 0 {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}
