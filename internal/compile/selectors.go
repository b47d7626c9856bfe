package compile

import (
	"maps"
	"slices"
	"strings"

	core_v1 "k8s.io/api/core/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// readSelector is a selector of endpoints as text: the namespace and each label
// "key=value" in order, after "|". Neither can have a "|" in it.
func readSelector(namespace string, s gateway_xv1alpha1.LabelSelector) string {
	labels := map[string]string{}
	for key, value := range s.MatchLabels {
		labels[string(key)] = string(value)
	}
	return strings.Join(append([]string{namespace}, labelTexts(labels)...), "|")
}

func labelTexts(labels map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, key+"="+labels[key])
	}
	return out
}

// serviceLabels are the buckets of a Service, each "namespace|key=value": the
// labels that all of its Pods have.
func serviceLabels(_ string, service *core_v1.Service) []string {
	texts := labelTexts(service.Spec.Selector)
	for i, text := range texts {
		texts[i] = derive.JoinKey(service.Namespace, text)
	}
	return texts
}

// selectedServices are the Services whose Pods all have the labels of a selector.
// Pods themselves are not observed: what is known of them are the endpoints of
// Services, so that a Pod behind no such Service is none of the selected.
func (b *build) selectedServices(c *derive.Ctx, selector string) []string {
	namespace, labels, _ := strings.Cut(selector, "|")
	wanted := strings.Split(labels, "|")
	var out []string
	for _, item := range derive.All(c, b.servicesByLabel, derive.JoinKey(namespace, wanted[0])) {
		has := labelTexts(item.Value.Spec.Selector)
		if !slices.ContainsFunc(wanted, func(label string) bool { return !slices.Contains(has, label) }) {
			out = append(out, item.Key)
		}
	}
	return out
}

// choice is a Service that an XBackend has endpoints of by their labels.
type choice struct {
	XBackend, Service string // "namespace/name"
}

func (b *build) choices(c *derive.Ctx, key string, at externalBackend) []derive.Item[choice] {
	if at.Selector == "" {
		return nil
	}
	var items []derive.Item[choice]
	for _, service := range b.selectedServices(c, at.Selector) {
		items = append(items, derive.Item[choice]{Key: service, Value: choice{key, service}})
	}
	return items
}

// contributes tells whether something that serves has endpoints of a Service.
func (b *build) contributes(c *derive.Ctx, service string) bool {
	for _, slice := range derive.Keys(c, b.slicesByService, serviceRef(service).String()) {
		if derive.Exists(c, b.sourcesBySlice, slice) {
			return true
		}
	}
	return false
}

// wanted tells whether something that serves forwards to a Service, by name or by
// its labels.
func (b *build) wanted(c *derive.Ctx, service string) bool {
	if b.usedBySomething(c, serviceRef(service).String()) {
		return true
	}
	for _, item := range derive.All(c, b.choicesByService, service) {
		x := item.Value.XBackend
		if at, _ := derive.Get(c, b.externals, x); at.Problem == nil && b.usedBySomething(c, store.Key{Collection: kindXBackend, Name: x}.String()) {
			return true
		}
	}
	return false
}
