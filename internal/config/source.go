package config

import "slices"

// Source gives the raw values that a configuration is made of. The zero Source
// has none, and gives the defaults.
type Source struct {
	// Flag returns the values given for a flag, and whether it was given.
	Flag func(name string) ([]string, bool)
	// Environ is the environment as os.Environ returns it.
	Environ []string
	// File is the path of the YAML file; empty means none.
	File string
	// Only are the keys that matter; nil means all. The others keep their defaults,
	// and nothing is said of them.
	Only []string
	// Watch demands that there is something to watch, and that it exists.
	Watch bool
}

// raw is one value as it was given.
type raw struct {
	values []string
	from   string // "--admin-address", "$GATEHOUSE_ADMIN_ADDRESS", "gatehouse.yaml:3", "default"
	base   string // directory that relative paths of a file start at
}

const fromDefault = "default"

// pick returns the value of a setting from the first source that has one:
// flag, environment, file, default.
func (s *setting) pick(src Source, env map[string]string, file map[string]raw) raw {
	if src.Only != nil && !slices.Contains(src.Only, s.Key) {
		return raw{values: s.defaults(env), from: fromDefault}
	}
	if src.Flag != nil {
		if values, ok := src.Flag(s.Flag); ok {
			return raw{values: values, from: "--" + s.Flag}
		}
	}
	if names := s.given(env); len(names) > 0 {
		return raw{values: s.split(env[names[0]]), from: "$" + names[0]}
	}
	if value, ok := file[s.Key]; ok {
		return value
	}
	return raw{values: s.defaults(env), from: fromDefault}
}

// given returns the setting's variables that are set, first the one that counts.
func (s *setting) given(env map[string]string) []string {
	var out []string
	for _, name := range []string{s.Older, s.Env} {
		if name != "" && env[name] != "" { // empty means unset, as in many unit files
			out = append(out, name)
		}
	}
	return out
}
