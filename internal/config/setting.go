package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// Setting is one static setting, as the reference and the command line present it.
type Setting struct {
	// Key is the path in the YAML file, for example "features.xbackend".
	Key string
	// Flag is the name on the command line, without dashes.
	Flag string
	// Env is the environment variable.
	Env string
	// Older is an older variable of the same meaning, which wins over Env; empty is none.
	Older string
	// Default as a user would write it; empty when there is none.
	Default string
	// Value names the kind of value: PATH, HOST:PORT, IP, DURATION, or "" for a switch.
	Value string
	// Usage is one sentence without a full stop.
	Usage string
	// List settings take several values; flags may be repeated, the environment
	// separates them like PATH.
	List bool
	// Offline settings also matter to commands that run nothing.
	Offline bool
	// Hidden values may have a password in them: they are not repeated.
	Hidden bool
}

// Settings returns all settings of "gatehouse run" in order of the reference.
func Settings() []Setting { return described(settings(new(Run))) }

func described(all []*setting) []Setting {
	var out []Setting
	for _, s := range all {
		out = append(out, s.Setting)
	}
	return out
}

// setting is a Setting and how its values become part of a configuration. set gets the
// values as given and returns what is wrong with them and the remedy.
type setting struct {
	Setting
	set func(values []string) error
	// path values of a file are relative to the file.
	path bool
}

func (s *setting) split(value string) []string {
	if s.List {
		return filepath.SplitList(value)
	}
	return []string{value}
}

// defaults returns the default values, with the user's state directory put in.
func (s *setting) defaults(env map[string]string) []string {
	if s.Default == "" {
		return nil
	}
	rest, inState := strings.CutPrefix(s.Default, stateHome)
	if !inState {
		return []string{s.Default}
	}
	state, home := env["XDG_STATE_HOME"], env["HOME"]
	switch {
	case filepath.IsAbs(state): // the XDG base directory specification says to ignore relative ones
		return []string{state + rest}
	case home != "":
		return []string{filepath.Join(home, ".local", "state") + rest}
	}
	return nil
}

// stateHome stands for the user's directory of state data.
const stateHome = "${XDG_STATE_HOME:-~/.local/state}"

// find returns the setting with this key of the file.
func find(all []*setting, key string) (*setting, bool) {
	i := slices.IndexFunc(all, func(s *setting) bool { return s.Key == key })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}
