package failmode

import (
	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
)

// scope is the namespaces that others may attach from. A namespace that has no
// Namespace object is selected by no selector.
type scope struct {
	from     gateway_v1.FromNamespaces
	selector *meta_v1.LabelSelector
	own      string // the namespace of what is attached to
}

// nobody is the scope that takes nothing, as a selector of what cannot be.
func nobody(own string) scope {
	return scope{gateway_v1.NamespacesFromSelector, &meta_v1.LabelSelector{MatchExpressions: []meta_v1.LabelSelectorRequirement{
		{Key: core_v1.LabelMetadataName, Operator: meta_v1.LabelSelectorOpDoesNotExist},
	}}, own}
}

// matches are the label sets of Namespaces that a selector of the scope takes.
func (s scope) matches() (all selected, some bool) {
	if s.from != gateway_v1.NamespacesFromSelector {
		return nil, false
	}
	return read(s.selector)
}

func (s scope) empty() bool {
	switch s.from {
	case gateway_v1.NamespacesFromAll, gateway_v1.NamespacesFromSame:
		return false
	default:
		_, some := s.matches()
		return !some
	}
}

// within reports whether everything that the scope takes is taken by another as well.
func (s scope) within(t scope) bool {
	switch {
	case s.empty() || t.from == gateway_v1.NamespacesFromAll:
		return true
	case t.from == gateway_v1.NamespacesFromSame && s.from == gateway_v1.NamespacesFromSame:
		return true
	case s.from != gateway_v1.NamespacesFromSelector || t.empty():
		return false
	}
	mine, _ := s.matches()
	if t.from == gateway_v1.NamespacesFromSame {
		return mine.of(core_v1.LabelMetadataName).within(listed(s.own))
	}
	theirs, _ := t.matches()
	return mine.within(theirs)
}

// meet is the scope of what both take.
func (s scope) meet(t scope) scope {
	switch {
	case s.within(t):
		return s
	case t.within(s):
		return t
	}
	return scope{gateway_v1.NamespacesFromSelector, both(s.asSelector(), t.asSelector()), s.own}
}

// asSelector is a scope that is neither all nor empty, for Namespaces that exist.
func (s scope) asSelector() *meta_v1.LabelSelector {
	if s.from == gateway_v1.NamespacesFromSame {
		return &meta_v1.LabelSelector{MatchExpressions: []meta_v1.LabelSelectorRequirement{is(core_v1.LabelMetadataName, s.own)}}
	}
	return s.selector
}
