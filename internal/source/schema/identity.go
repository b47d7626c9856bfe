package schema

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// kindSet are the kinds that are read.
type kindSet []snapshot.Kind

// find returns the kind with this exact name and group.
func (s kindSet) find(group, name string) (snapshot.Kind, bool) {
	for _, k := range s {
		if k.Name == name && k.Group == group {
			return k, true
		}
	}
	return snapshot.Kind{}, false
}

// splitVersion takes an apiVersion apart; the core group is empty.
func splitVersion(apiVersion string) (group, version string) {
	if g, v, ok := strings.Cut(apiVersion, "/"); ok {
		return g, v
	}
	return "", apiVersion
}

// keyOf returns the key of an object as far as its document names it.
func (s kindSet) keyOf(apiVersion, kind, namespace, name string) store.Key {
	group, _ := splitVersion(apiVersion)
	k, known := s.find(group, kind)
	switch {
	case kind == "" || name == "":
		return store.Key{Collection: kind}
	case known && k.ClusterScoped:
		namespace = ""
	case known && namespace == "":
		namespace = DefaultNamespace
	}
	return snapshot.Ref(kind, namespace, name)
}

// DefaultNamespace is where objects are whose document names no namespace.
const DefaultNamespace = "default"

var (
	topKey   = regexp.MustCompile(`(?m)^(apiVersion|kind|metadata):[ \t]*["']?([^"'\s#{}]*)`)
	metaKey  = regexp.MustCompile(`^\s+(name|namespace):[ \t]*["']?([^"'\s#]+)`)
	flowMeta = regexp.MustCompile(`["']?metadata["']?\s*:\s*\{([^{}]*)`)
	flowKey  = regexp.MustCompile(`["']?\b(apiVersion|kind|name|namespace)["']?\s*:\s*["']?([^"'\s,}]+)`)
)

// guessKey reads the identity of a document that does not parse, so that it is
// known which object is broken. Its Name is empty when it cannot be told.
func (s kindSet) guessKey(text []byte) store.Key {
	found := map[string]string{}
	if looksLikeJSON(text) {
		collect(found, flowKey, text, "apiVersion", "kind")
	} else {
		collect(found, topKey, text, "apiVersion", "kind")
	}
	if m := flowMeta.FindSubmatch(text); m != nil {
		collect(found, flowKey, m[1], "name", "namespace")
	} else {
		guessBlockMetadata(found, text)
	}
	return s.keyOf(found["apiVersion"], found["kind"], found["namespace"], found["name"])
}

// collect keeps the first match of each wanted key.
func collect(found map[string]string, re *regexp.Regexp, text []byte, want ...string) {
	for _, m := range re.FindAllSubmatch(text, 64) {
		for _, w := range want {
			if string(m[1]) == w && found[w] == "" {
				found[w] = string(m[2])
			}
		}
	}
}

// guessBlockMetadata reads name and namespace from the indented lines after
// "metadata:", at the first indentation only.
func guessBlockMetadata(found map[string]string, text []byte) {
	inside, indent := false, -1
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimLeft(line, " \t")
		depth := len(line) - len(trimmed)
		switch {
		case isBlank(line):
		case depth == 0 && inside:
			return
		case depth == 0:
			inside = bytes.HasPrefix(line, []byte("metadata:"))
		case inside && (indent < 0 || depth == indent):
			indent = depth
			if m := metaKey.FindSubmatch(line); m != nil && found[string(m[1])] == "" {
				found[string(m[1])] = string(m[2])
			}
		}
	}
}
