package script

import (
	"embed"
	"fmt"
)

//go:embed scripts
var scripts embed.FS

// Summary describes a built-in script.
type Summary struct {
	Name string
	// Does says in one line what happens.
	Does string
}

// Default is the name of the script that runs when none is asked for.
const Default = "default"

// Names returns the built-in scripts, the default first.
func Names() []Summary {
	return []Summary{
		{Default, "the six steps of the original experiment: add, add, reload, add, remove, reload"},
		{"rolling-update", "five pods are replaced one by one, each drained before it stops"},
		{"autoscaling-burst", "a group grows from 2 to 12 backends in ten seconds, and shrinks again"},
		{"node-loss", "two of six backends vanish, and the control plane notices three seconds later"},
	}
}

// BuiltIn returns a built-in script. The events of its timeline have no lines.
func BuiltIn(name string) (*Script, bool) {
	text, ok := Text(name)
	if !ok {
		return nil, false
	}
	s, err := Parse("built-in "+name, text)
	if err != nil {
		panic(fmt.Sprintf("a built-in script is wrong: %v", err)) // a test parses them all
	}
	s.Name = name
	for i := range s.events {
		s.events[i].Line = 0
	}
	for i := range s.steps {
		s.steps[i].line = 0
	}
	return s, true
}

// Text returns the YAML text of a built-in script, to begin one's own with.
func Text(name string) ([]byte, bool) {
	text, err := scripts.ReadFile("scripts/" + name + ".yaml")
	return text, err == nil
}
