package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// A cluster whose host name does not resolve holds back what uses it for a bounded
// time only. Envoy then takes it without a host, and that it did says nothing: so
// the proxy is asked, until the cluster has hosts, and as long as it has none
// whatever uses it has a warning.

// lacking is what one Gateway's proxy says of its slow clusters.
type lacking struct {
	gateway  model.GatewayID
	clusters []string // slow ones without a host
	err      error
}

// When slow clusters are looked at: after what they may take, and how often then.
const (
	slowFirst = 2500 * time.Millisecond
	slowAgain = time.Second
)

// watchSlow looks at the slow clusters of an update once they have had their time.
func (l *Loop) watchSlow(u xdsserve.Update, now time.Time) {
	for _, r := range u.Set {
		if r.Type == xdsserve.Cluster && r.SlowToWarm {
			l.slow[model.GatewayID(r.Group)] = now.Add(slowFirst)
		}
	}
}

// warmTimedOut notes that resources went out before the clusters they use were ready.
func (l *Loop) warmTimedOut(ctx context.Context, e xdsserve.Event) {
	l.Log.Warn("sent before its clusters were ready", observe.KeyGateway, e.Group, observe.KeyResource, e.Names)
	l.slow[model.GatewayID(e.Group)] = time.Time{}
	l.lookAtSlow(ctx, l.Now())
}

// lookAtSlow asks the proxies of Gateways with slow clusters, one question at a time.
func (l *Loop) lookAtSlow(ctx context.Context, now time.Time) {
	for gateway, at := range l.slow {
		if at.After(now) {
			continue
		}
		l.slow[gateway] = now.Add(slowAgain)
		slow := l.slowClusters(gateway)
		l.tasks.Go(func() {
			result := lacking{gateway: gateway}
			var have []string
			have, result.err = l.Proxies.ClustersWithHosts(ctx, gateway)
			result.clusters = slices.DeleteFunc(slow, func(name string) bool { return slices.Contains(have, name) })
			select {
			case l.lacking <- result:
			case <-ctx.Done():
			}
		})
	}
}

// slowClusters are the clusters of a Gateway whose readiness depends on a name server.
func (l *Loop) slowClusters(gateway model.GatewayID) []string {
	var out []string
	for _, output := range derive.ItemsWithPrefix(l.accepted, l.Graph.Envoy.Clusters, string(gateway)+"|") {
		if output.Resource != nil && output.Resource.SlowToWarm {
			out = append(out, output.Resource.Name.Name)
		}
	}
	return out
}

// clustersLack takes what a proxy said of its slow clusters.
func (l *Loop) clustersLack(result lacking) {
	if _, asked := l.slow[result.gateway]; !asked || result.err != nil {
		return // the Gateway is gone; or ask again
	}
	l.board.setLacking(result.gateway, result.clusters)
	if len(result.clusters) == 0 {
		delete(l.slow, result.gateway)
	}
}

// lackingSteps warn of clusters that an object stands for or sends requests to,
// and that have no host.
func (j join) lackingSteps(resources []scoped) []verdict.Step {
	var steps []verdict.Step
	for _, group := range groupsOf(resources) {
		for _, cluster := range j.reporter.board.lackingOf(model.GatewayID(group)) {
			if j.uses(group, cluster, resources) {
				steps = append(steps, verdict.WarmTimedOut.Step(verdict.Publish, verdict.Warning, fmt.Sprintf(
					"cluster %s of gateway %s has no host: its name did not resolve in time; requests to it answer 503 until it does", cluster, group)))
			}
		}
	}
	return steps
}

func groupsOf(resources []scoped) []string {
	var out []string
	for _, s := range resources {
		if s.Group != "" && !slices.Contains(out, s.Group) {
			out = append(out, s.Group)
		}
	}
	return out
}

// uses tells whether a cluster is made from the object, or one of its routes
// forwards to it. It walks the hosts of the Gateway: only while a name does not
// resolve, and when someone asks.
func (j join) uses(group, cluster string, resources []scoped) bool {
	if slices.Contains(resources, scoped{Group: group, Name: xdsserve.Name{Type: xdsserve.Cluster, Name: cluster}}) {
		return true
	}
	for _, h := range derive.ItemsWithPrefix(j.at.state, j.reporter.graph.Compiled.Model.Hosts, group+"/") {
		if j.forwards(h, cluster) {
			return true
		}
	}
	return false
}

func (j join) forwards(h model.VirtualHost, cluster string) bool {
	return slices.ContainsFunc(h.Routes, func(r model.Route) bool {
		return r.Forward != nil && slices.Contains(r.Origins, j.key) &&
			slices.ContainsFunc(r.Forward.Backends, func(b model.WeightedBackend) bool { return string(b.Cluster) == cluster })
	})
}
