package config

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestFleetPods(t *testing.T) {
	var f Fleet
	for _, s := range fleetPodsTable(&f) {
		if s.Default != "" {
			if err := s.set([]string{s.Default}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if f.Pods.Requests.Cpu().String() != "50m" || f.Pods.Requests.Memory().String() != "64Mi" || f.Pods.Limits.Memory().String() != "256Mi" {
		t.Errorf("defaults: %+v", f.Pods)
	}
	values := map[string]string{
		"podImage": "a/b:c", "podRequests": "cpu=1, nvidia.com/gpu=2", "podLimits": "memory=1Gi",
		"podAllowSources": "10.1.0.0/16,fd00::/8", "podAllowDestinations": "10.2.0.0/16",
	}
	for _, s := range fleetPodsTable(&f) {
		if err := s.set([]string{values[s.Key]}); err != nil {
			t.Errorf("%s: %v", s.Key, err)
		}
	}
	sources := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}
	if diff := cmp.Diff(sources, f.Pods.AllowSources, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if gpus := f.Pods.Requests["nvidia.com/gpu"]; f.Pods.Image != "a/b:c" || !gpus.Equal(resource.MustParse("2")) || len(f.Pods.Requests) != 2 {
		t.Errorf("values: %+v", f.Pods)
	}
}

func TestFleetPodsRefuses(t *testing.T) {
	for value, key := range map[string]string{"cpu": "podRequests", "=1": "podLimits", "cpu=-1": "podRequests", "cpu=much": "podLimits", "": "podRequests", "10.0.0.0/33": "podAllowSources"} {
		var f Fleet
		for _, s := range fleetPodsTable(&f) {
			if s.Key != key {
				continue
			}
			if err := s.set([]string{value}); err == nil || !strings.Contains(err.Error(), "; ") && !strings.HasPrefix(err.Error(), "must be ") {
				t.Errorf("%s %q: %v", key, value, err)
			}
		}
	}
}
