package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestDefinitionsAreFresh(t *testing.T) {
	copies, err := Copies()
	if err != nil {
		t.Fatal(err)
	}
	if len(copies) < 24 {
		t.Fatalf("only %d definitions found in the modules", len(copies))
	}
	for name, want := range copies {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("config/crd/%s is stale (%v): run go generate ./config/crd", name, err)
		}
	}
	on, err := filepath.Glob("../*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range on {
		if name, _ := filepath.Rel("..", path); copies[filepath.ToSlash(name)] == nil {
			t.Errorf("config/crd/%s is in no module any more: delete it", name)
		}
	}
}
