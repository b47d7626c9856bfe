package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Copies returns the content of every generated file by its name under config/crd.
func Copies() (map[string][]byte, error) {
	out := map[string][]byte{}
	gateway, err := moduleDir("sigs.k8s.io/gateway-api")
	if err != nil {
		return nil, err
	}
	for _, channel := range []string{"standard", "experimental"} {
		if err := copyAll(out, channel, filepath.Join(gateway, "config/crd", channel, "gateway.*s.yaml")); err != nil {
			return nil, err
		}
	}
	mcs, err := moduleDir("sigs.k8s.io/mcs-api")
	if err != nil {
		return nil, err
	}
	return out, copyAll(out, "", filepath.Join(mcs, "config/crd", "*_serviceimports.yaml"))
}

func moduleDir(module string) (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func copyAll(out map[string][]byte, dir, pattern string) error {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no definitions match %s (%w)", pattern, err)
	}
	for _, path := range paths {
		content, err := strip(path)
		if err != nil {
			return err
		}
		if content != nil {
			name := strings.TrimSuffix(filepath.Base(path), ".yaml") + ".json"
			out[filepath.ToSlash(filepath.Join(dir, name))] = content
		}
	}
	return nil
}

// strip returns the definition at path as JSON without descriptions, or nil for
// a file that is no definition.
func strip(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	if doc["kind"] != "CustomResourceDefinition" {
		return nil, nil
	}
	delete(doc, "status")
	dropDescriptions(doc)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode %s: %w", path, err)
	}
	return b.Bytes(), nil
}

// dropDescriptions removes descriptions, but no property of that name: those
// are objects, descriptions are text.
func dropDescriptions(x any) {
	switch x := x.(type) {
	case map[string]any:
		if _, isText := x["description"].(string); isText {
			delete(x, "description")
		}
		for _, v := range x {
			dropDescriptions(v)
		}
	case []any:
		for _, v := range x {
			dropDescriptions(v)
		}
	}
}
