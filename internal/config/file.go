package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// maxFile is the most that a configuration file may hold, in bytes.
const maxFile = 1 << 20

// readFile reads the YAML file into values by key, with the line of each. It
// returns all that is wrong with the file, and what could be read nevertheless.
func readFile(path string, all []*setting) (map[string]raw, []error) {
	if path == "" {
		return nil, nil
	}
	text, err := readLimited(path)
	if err != nil {
		return nil, []error{&Error{From: "--config-file", Value: path, Problem: err.Error()}}
	}
	doc, err := parse(text)
	if err != nil {
		return nil, []error{&Error{From: path, Problem: err.Error()}}
	}
	if len(doc.Content) == 0 { // empty, or comments only
		return nil, nil
	}
	r := fileReader{path: path, all: all, values: map[string]raw{}}
	r.mapping("", doc.Content[0])
	return r.values, r.errs
}

// parse returns the one document of a text.
func parse(text []byte) (doc yaml.Node, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return doc, errors.New("is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch err := d.Decode(new(yaml.Node)); {
	case err == nil:
		return doc, errors.New("has more than one document; keep all settings in one")
	case !errors.Is(err, io.EOF):
		return doc, errors.New("is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return doc, nil
}

func readLimited(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w; name an existing YAML file", errors.Unwrap(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file; name a YAML file (directories of objects go to --config)")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("is larger than %d bytes; static settings need a few lines only", maxFile)
	}
	return text, err
}

// fileReader walks the nodes of one file.
type fileReader struct {
	path   string
	all    []*setting
	values map[string]raw
	errs   []error
}

func (r *fileReader) fail(n *yaml.Node, field, value, problem string) {
	from := fmt.Sprintf("%s:%d", r.path, n.Line)
	r.errs = append(r.errs, &Error{From: from, Field: field, Value: value, Problem: problem})
}

func (r *fileReader) mapping(prefix string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, prefix, n.Value, "must be a mapping of settings, for example \"adminAddress: 127.0.0.1:19000\"")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		key := prefix + name.Value
		if line, twice := seen[key]; twice {
			r.fail(name, key, "", fmt.Sprintf("is already set in line %d; keep one of them", line))
			continue
		}
		seen[key] = name.Line
		r.entry(key, name, value)
	}
}

func (r *fileReader) entry(key string, name, value *yaml.Node) {
	s, known := find(r.all, key)
	switch {
	case known:
		r.value(s, value)
	case r.isGroup(key):
		r.mapping(key+".", value)
	default:
		r.fail(name, key, "", "is no setting; "+r.suggest(key))
	}
}

// isGroup tells whether key is the common beginning of settings, as "features" is.
func (r *fileReader) isGroup(key string) bool {
	for _, s := range r.all {
		if strings.HasPrefix(s.Key, key+".") {
			return true
		}
	}
	return false
}

func (r *fileReader) suggest(key string) string {
	var keys []string
	for _, s := range r.all {
		keys = append(keys, s.Key)
	}
	if best, ok := spelling.Closest(key, keys); ok {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "the settings are " + strings.Join(keys, ", ")
}

func (r *fileReader) value(s *setting, n *yaml.Node) {
	items := []*yaml.Node{n}
	if s.List && n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	got := raw{from: fmt.Sprintf("%s:%d", r.path, n.Line)}
	if s.path {
		got.base = filepath.Dir(r.path)
	}
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			r.fail(item, s.Key, "", "must have a plain value")
			return
		}
		got.values = append(got.values, item.Value)
	}
	r.values[s.Key] = got
}
