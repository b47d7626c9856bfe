package compile

import (
	"strings"

	discovery_v1 "k8s.io/api/discovery/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// These functions name the buckets that values are grouped by.

func itself(_, value string) []string { return []string{value} }

func claimPort(_ string, c claim) []string { return []string{string(c.Port)} }

func useSecret(_ string, u certificateUse) []string { return []string{u.Secret} }

func certificateSecret(_ string, c model.Certificate) []string { return []string{string(c.ID)} }

func servedClass(_ string, s served) []string {
	if !s.Accepted {
		return nil
	}
	return []string{s.Class}
}

func servedConfigs(_ string, s served) []string {
	if !s.Accepted {
		return nil
	}
	return s.Configs
}

func servedUses(_ string, s served) []string { return s.Permissions }

func tableSpecID(_ string, t tableSpec) []string { return []string{string(t.ID)} }

func boundKey(_ string, l bound) []string { return []string{l.key()} }

// boundSection is a bucket for each TCP, TLS or UDP listener that holds its port.
func boundSection(_ string, l bound) []string { return l.Sections }

// sliceService is a bucket for the Service of a slice, and one for its ServiceImport.
func sliceService(_ string, s *discovery_v1.EndpointSlice) []string {
	var out []string
	for _, owner := range ownersOf(s) {
		out = append(out, owner.String())
	}
	return out
}

func memberSection(_ string, m membership) []string { return []string{m.Section} }

func placeHost(_ string, p place) []string { return []string{p.host()} }

// exactTable is a bucket for each table of the hosts that have an exact name.
func exactTable(_ string, h model.VirtualHost) []string {
	if strings.HasPrefix(h.Domain, anyHost) {
		return nil
	}
	return []string{string(h.Table)}
}

func shareRoute(_ string, s share) []string { return []string{s.Route} }

func shareUses(_ string, s share) []string { return s.Uses }

func shareClusters(_ string, s share) []string { return clusterKeys(s.Gateway, s.Clusters) }

func streamPlaceKey(_ string, p streamPlace) []string { return []string{p.key()} }

func streamUses(_ string, s stream) []string {
	if !s.Serves {
		return nil
	}
	return s.Uses
}

func streamClusters(_ string, s stream) []string {
	if !s.Serves {
		return nil
	}
	return clusterKeys(s.Gateway, s.Clusters)
}

func usedGateway(_ string, u used) []string { return []string{string(u.Gateway)} }

// usedService is a bucket for each cluster whose endpoints come from Services.
func usedService(_ string, u used) []string {
	if u.Upstream.Service == "" && u.Upstream.Selector == "" {
		return nil
	}
	return []string{string(u.Upstream.ID)}
}

// usedShown is a bucket for each certificate of an XBackend's own at a Gateway.
func usedShown(_ string, u used) []string {
	if u.Upstream.Presents == "" {
		return nil
	}
	return []string{derive.JoinKey(string(u.Gateway), string(u.Upstream.Presents))}
}

func choiceService(_ string, c choice) []string { return []string{c.Service} }

// always makes the smallest value of a bucket: that it has members.
func always(_ *derive.Ctx, bucket string) (string, bool) { return bucket, true }
