package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// validatorReader walks the nodes of a file of validators.
type validatorReader struct {
	path string
	errs []error
	at   string // of the validator read now, for example "[0]"
}

// validatorFields are the fields of a validator and how each is read.
var validatorFields = []struct {
	name string
	read func(r *validatorReader, v *Validator, n *yaml.Node) (value, problem string)
}{
	{"name", (*validatorReader).name},
	{"command", (*validatorReader).command},
	{"address", (*validatorReader).address},
	{"timeout", (*validatorReader).timeout},
	{"types", (*validatorReader).types},
	{"secrets", (*validatorReader).secrets},
	{"whenUnavailable", (*validatorReader).whenUnavailable},
}

func (r *validatorReader) fail(n *yaml.Node, field, value, problem string) {
	r.errs = append(r.errs, &Error{From: fmt.Sprintf("%s:%d", r.path, n.Line), Field: field, Value: value, Problem: problem})
}

func (r *validatorReader) list(n *yaml.Node) []Validator {
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "", n.Value, `must be a list of validators, for example "- {name: naming, command: [./check-names]}"`)
		return nil
	}
	if len(n.Content) > maxValidators {
		r.fail(n, "", strconv.Itoa(len(n.Content)), fmt.Sprintf("validators are more than %d; let one program check more", maxValidators))
		return nil
	}
	var all []Validator
	lines := map[string]int{}
	for i, item := range n.Content {
		r.at = fmt.Sprintf("[%d]", i)
		v := r.validator(item)
		if line, twice := lines[v.Name]; twice && v.Name != "" {
			r.fail(item, r.at+".name", v.Name, fmt.Sprintf("is also the name of the validator in line %d; give each its own", line))
		}
		lines[v.Name] = item.Line
		all = append(all, v)
	}
	return all
}

func (r *validatorReader) validator(n *yaml.Node) Validator {
	v := Validator{Timeout: defaultVerdict, Required: true}
	for _, t := range xdsserve.Types() {
		if t != xdsserve.Endpoints {
			v.Types = append(v.Types, t)
		}
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, r.at, n.Value, "must be a mapping with a name and a command")
		return v
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if line, twice := seen[key.Value]; twice {
			r.fail(key, r.at+"."+key.Value, "", fmt.Sprintf("is already set in line %d; keep one of them", line))
			continue
		}
		seen[key.Value] = key.Line
		r.field(&v, key, n.Content[i+1])
	}
	if seen["name"] == 0 {
		r.fail(n, r.at+".name", "", "is missing; every validator has a name and a command")
	}
	switch command, address := seen["command"], seen["address"]; {
	case command == 0 && address == 0:
		r.fail(n, r.at+".command", "", "is missing; every validator has a name and a command, or an address")
	case command > 0 && address > 0:
		r.fail(n, r.at+".address", v.Address, "is set beside command; keep one of them")
	}
	return v
}

func (r *validatorReader) field(v *Validator, key, value *yaml.Node) {
	for _, f := range validatorFields {
		if f.name != key.Value {
			continue
		}
		if given, problem := f.read(r, v, value); problem != "" {
			r.fail(value, r.at+"."+f.name, given, problem)
		}
		return
	}
	names := make([]string, len(validatorFields))
	for i, f := range validatorFields {
		names[i] = f.name
	}
	remedy := "the fields are " + strings.Join(names, ", ")
	if best, ok := spelling.Closest(key.Value, names); ok {
		remedy = fmt.Sprintf("did you mean %q?", best)
	}
	r.fail(key, r.at+"."+key.Value, "", "is no field of a validator; "+remedy)
}

func (*validatorReader) name(v *Validator, n *yaml.Node) (value, problem string) {
	if !isPlain(n) || len(validation.IsDNS1123Label(n.Value)) > 0 {
		return n.Value, "must be a name of small letters, digits and dashes, for example naming"
	}
	v.Name = n.Value
	return "", ""
}

func (r *validatorReader) command(v *Validator, n *yaml.Node) (value, problem string) {
	words, ok := plainList(n)
	if !ok || len(words) == 0 || words[0] == "" {
		return n.Value, "must be a list of a program's path and its arguments, for example [./check-names, --strict]; no shell reads it"
	}
	if !filepath.IsAbs(words[0]) {
		dir, err := filepath.Abs(filepath.Dir(r.path))
		if err != nil {
			return words[0], err.Error()
		}
		words[0] = filepath.Join(dir, words[0])
	}
	v.Command = words
	return words[0], checkProgram(words[0])
}

func (*validatorReader) address(v *Validator, n *yaml.Node) (value, problem string) {
	path, socket := strings.CutPrefix(n.Value, "unix://")
	if !isPlain(n) || socket && !filepath.IsAbs(path) || !socket && (CheckHostPort(n.Value) != nil || !Loopback(n.Value)) {
		return n.Value, "must be a gRPC service on this machine: unix:///PATH, or HOST:PORT of a loopback address"
	}
	v.Address = n.Value
	return "", ""
}

func (*validatorReader) timeout(v *Validator, n *yaml.Node) (value, problem string) {
	d, err := time.ParseDuration(n.Value)
	if !isPlain(n) || err != nil || d < leastVerdict || d > mostVerdict {
		return n.Value, fmt.Sprintf("must be a duration from %s to %s, for example 5s", leastVerdict, mostVerdict)
	}
	v.Timeout = d
	return "", ""
}

func (*validatorReader) types(v *Validator, n *yaml.Node) (value, problem string) {
	remedy := "must be a list of resource types: " + strings.Join(xdsserve.ShortTypes(), ", ")
	words, ok := plainList(n)
	if !ok || len(words) == 0 {
		return n.Value, remedy
	}
	v.Types = nil
	for _, word := range words {
		t, known := xdsserve.TypeWithShort(word)
		if !known || slices.Contains(v.Types, t) {
			return word, remedy + ", each once"
		}
		v.Types = append(v.Types, t)
	}
	return "", ""
}

func (*validatorReader) secrets(v *Validator, n *yaml.Node) (value, problem string) {
	if !isPlain(n) || n.Value != "true" && n.Value != "false" {
		return n.Value, "must be true or false"
	}
	v.Secrets = n.Value == "true"
	return "", ""
}

func (*validatorReader) whenUnavailable(v *Validator, n *yaml.Node) (value, problem string) {
	if !isPlain(n) || n.Value != "wait" && n.Value != "accept" {
		return n.Value, "must be wait, so that changes wait for its verdict, or accept, so that they pass without"
	}
	v.Required = n.Value == "wait"
	return "", ""
}

func isPlain(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag != "!!null" }

// plainList returns the items of a list of plain values.
func plainList(n *yaml.Node) ([]string, bool) {
	if n.Kind != yaml.SequenceNode {
		return nil, false
	}
	var out []string
	for _, item := range n.Content {
		if !isPlain(item) {
			return nil, false
		}
		out = append(out, item.Value)
	}
	return out, true
}
