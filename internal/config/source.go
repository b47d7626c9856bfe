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
	if value := env[s.Env]; value != "" { // empty means unset, as in many unit files
		return raw{values: s.split(value), from: "$" + s.Env}
	}
	if value, ok := file[s.Key]; ok {
		return value
	}
	return raw{values: s.defaults(env), from: fromDefault}
}
