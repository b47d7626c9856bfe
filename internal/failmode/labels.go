package failmode

import (
	"maps"
	"slices"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// states are those that a label may be in, each a value or absent: the listed ones,
// or all others. There is always a value that nobody lists.
type states struct {
	listed map[string]bool
	others bool
}

// absent is the state of a label that is not there.
const absent = "\x00"

func listed(all ...string) states {
	out := states{listed: map[string]bool{}}
	for _, s := range all {
		out.listed[s] = true
	}
	return out
}

func (s states) but() states { return states{s.listed, !s.others} }

func (s states) has(state string) bool { return s.listed[state] != s.others }

func (s states) none() bool { return !s.others && len(s.listed) == 0 }

// and are the states that are in both.
func (s states) and(t states) states {
	out := states{map[string]bool{}, s.others && t.others}
	for state := range maps.Keys(s.listed) {
		out.put(state, s.has(state) && t.has(state))
	}
	for state := range maps.Keys(t.listed) {
		out.put(state, s.has(state) && t.has(state))
	}
	return out
}

func (s states) put(state string, in bool) {
	if in != s.others {
		s.listed[state] = true
	}
}

// within reports whether every one of the states is among others.
func (s states) within(t states) bool { return s.and(t.but()).none() }

// selected are the label sets that a selector matches: by label, the states that
// it may be in. The labels of a Namespace always have its name.
type selected map[string]states

// read returns what a selector matches; what cannot be read matches nothing.
func read(selector *meta_v1.LabelSelector) (all selected, some bool) {
	if selector == nil {
		return nil, false
	}
	if _, err := meta_v1.LabelSelectorAsSelector(selector); err != nil {
		return nil, false
	}
	all = selected{}
	for _, r := range requirements(selector) {
		switch r.Operator {
		case meta_v1.LabelSelectorOpIn:
			all[r.Key] = all.of(r.Key).and(listed(r.Values...))
		case meta_v1.LabelSelectorOpNotIn:
			all[r.Key] = all.of(r.Key).and(listed(r.Values...).but())
		case meta_v1.LabelSelectorOpExists:
			all[r.Key] = all.of(r.Key).and(listed(absent).but())
		case meta_v1.LabelSelectorOpDoesNotExist:
			all[r.Key] = all.of(r.Key).and(listed(absent))
		}
	}
	for _, s := range all {
		if s.none() {
			return nil, false
		}
	}
	return all, true
}

func (all selected) of(label string) states {
	if s, ok := all[label]; ok {
		return s
	}
	if label == core_v1.LabelMetadataName {
		return listed(absent).but()
	}
	return states{map[string]bool{}, true}
}

// within reports whether every label set that is matched is matched by others, too.
func (all selected) within(others selected) bool {
	for label := range others {
		if !all.of(label).within(others.of(label)) {
			return false
		}
	}
	return true
}

// requirements are those of a selector, its matchLabels in order first.
func requirements(selector *meta_v1.LabelSelector) []meta_v1.LabelSelectorRequirement {
	var out []meta_v1.LabelSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		out = append(out, is(key, selector.MatchLabels[key]))
	}
	return append(out, selector.MatchExpressions...)
}

func is(label, value string) meta_v1.LabelSelectorRequirement {
	return meta_v1.LabelSelectorRequirement{Key: label, Operator: meta_v1.LabelSelectorOpIn, Values: []string{value}}
}

// both matches what both selectors match.
func both(s, t *meta_v1.LabelSelector) *meta_v1.LabelSelector {
	out := s.DeepCopy()
	out.MatchExpressions = append(out.MatchExpressions, requirements(t.DeepCopy())...)
	return out
}
