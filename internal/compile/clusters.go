package compile

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// used is a backend as the routes of one kind at one Gateway use it.
type used struct {
	Gateway  model.GatewayID
	Upstream upstream
	// Presents is the certificate that the backend is shown, where it is reached by TLS.
	Presents model.CertificateID
}

func equalUsed(a, b used) bool {
	tlsA, tlsB := a.Upstream.TLS, b.Upstream.TLS
	a.Upstream.TLS, b.Upstream.TLS = nil, nil
	return a == b && reflect.DeepEqual(tlsA, tlsB)
}

// clusterKeys are the buckets of whatever uses clusters at a Gateway.
func clusterKeys(g model.GatewayID, all []upstream) []string {
	keys := make([]string, len(all))
	for i, u := range all {
		keys[i] = derive.JoinKey(string(g), string(u.ID))
	}
	return keys
}

// usedIn finds the backend of a bucket among those of one of its members.
func usedIn(g model.GatewayID, all []upstream, bucket string) (used, bool) {
	i := slices.IndexFunc(all, func(u upstream) bool { return derive.JoinKey(string(g), string(u.ID)) == bucket })
	if i < 0 {
		return used{}, false
	}
	return used{Gateway: g, Upstream: all[i]}, true
}

// usedByHTTP and usedByStreams make one value of a backend however many routes use it.
func (b *build) usedByHTTP(c *derive.Ctx, bucket string) (used, bool) {
	s := derive.First(c, b.sharesByCluster, bucket, 1)[0].Value
	return usedIn(s.Gateway, s.Clusters, bucket)
}

func (b *build) usedByStreams(c *derive.Ctx, bucket string) (used, bool) {
	s := derive.First(c, b.streamsByCluster, bucket, 1)[0].Value
	return usedIn(s.Gateway, s.Clusters, bucket)
}

// clusterItems are the backends of one Gateway: of every kind of route, and its own.
func (b *build) clusterItems(c *derive.Ctx, gateway string, s served) []derive.Item[used] {
	var items []derive.Item[used]
	for _, index := range []derive.Index[used]{b.httpByGateway, b.streamsByGateway} {
		for _, item := range derive.All(c, index, gateway) {
			items = append(items, s.using(item.Value.Upstream))
		}
	}
	for _, own := range b.ownUpstreams(c, gateway, s) {
		if !slices.ContainsFunc(items, func(i derive.Item[used]) bool { return i.Key == string(own.ID) }) {
			items = append(items, s.using(own))
		}
	}
	return items
}

// using is a backend as a Gateway uses it.
func (s served) using(to upstream) derive.Item[used] {
	u := used{Gateway: s.ID, Upstream: to}
	if to.TLS != nil {
		u.Presents = cmp.Or(to.Presents, s.Presents)
	}
	return derive.Item[used]{Key: string(to.ID), Value: u}
}

// ownUpstreams are where a Gateway sends its traces, and what its listeners ask.
func (b *build) ownUpstreams(c *derive.Ctx, gateway string, s served) []upstream {
	var out []upstream
	if traced, _ := derive.Get(c, b.tracings, gateway); traced.Tracing != nil {
		out = append(out, traced.Collector)
	}
	for _, l := range s.Listeners {
		if l.Admits > 0 {
			at, _ := derive.Get(c, b.entrances, l.key())
			out = append(out, at.Clusters...)
		}
	}
	return distinctUpstreams(out)
}

// cluster is a used backend in the words of the model.
func cluster(_ string, u used) model.Cluster {
	out := model.Cluster{
		ID: u.Upstream.ID, Gateway: u.Gateway, Protocol: u.Upstream.Protocol,
		Host: u.Upstream.Host, TLS: u.Upstream.TLS, ClientCertificate: u.Presents, Retries: u.Upstream.Retries,
		Origins: []model.Ref{u.Upstream.Origin},
	}
	if out.Host != "" {
		out.Port = u.Upstream.Port
	}
	return out
}
