package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
)

// given is the value of a setting's flag: everything that was given for it.
type given struct {
	config.Setting
	values []string
}

// Set adds a value; config validates it together with all others.
func (g *given) Set(v string) error {
	g.values = append(g.values, v)
	return nil
}

func (g *given) String() string {
	if g.values == nil {
		return g.Default
	}
	return strings.Join(g.values, ", ")
}

// Type is what help shows after the flag.
func (g *given) Type() string {
	if g.Value == "" {
		return "bool"
	}
	return g.Value
}

// settingFlags adds a flag for each setting that is wanted, and one for the file,
// and returns how to load the configuration from them.
func (s *session) settingFlags(cmd *cobra.Command, want func(config.Setting) bool) func(watch bool, more ...string) (config.Loaded, error) {
	var file string
	cmd.Flags().StringVar(&file, "config-file", "", "`FILE` of static settings in YAML; flags and environment win over it")
	keys := addSettings(cmd, config.Settings(), want)
	return func(watch bool, more ...string) (config.Loaded, error) {
		return config.Load(config.Source{
			Environ: s.Environ, File: s.filePath(cmd, file), Watch: watch, Only: keys,
			Flag: func(name string) ([]string, bool) {
				values, _ := givenFor(cmd, name)
				if name == "config" {
					values = slices.Concat(values, more)
				}
				return values, len(values) > 0
			},
		})
	}
}

// routerFlags adds a flag for each setting of the database router that is wanted, and
// returns how to load its configuration from them.
func (s *session) routerFlags(cmd *cobra.Command, want func(config.Setting) bool) func(watch bool) (config.LoadedPostgres, error) {
	settings := config.PostgresSettings()
	keys := addSettings(cmd, settings, want)
	if len(keys) == len(settings) {
		keys = nil // then what looks like a setting matters too
	}
	return func(watch bool) (config.LoadedPostgres, error) {
		return config.LoadPostgres(config.Source{
			Environ: s.Environ, Watch: watch, Only: keys,
			Flag: func(name string) ([]string, bool) { return givenFor(cmd, name) },
		})
	}
}

// fleetFlags adds a flag for each setting of a fleet that is wanted, and returns how to
// load its configuration from them.
func (s *session) fleetFlags(cmd *cobra.Command, want func(config.Setting) bool) func() (config.LoadedFleet, error) {
	settings := config.FleetSettings()
	keys := addSettings(cmd, settings, want)
	if len(keys) == len(settings) {
		keys = nil // then what must be given matters too
	}
	return func() (config.LoadedFleet, error) {
		return config.LoadFleet(config.Source{
			Environ: s.Environ, Only: keys,
			Flag: func(name string) ([]string, bool) { return givenFor(cmd, name) },
		})
	}
}

// addSettings adds a flag for each setting that is wanted, and returns their keys.
func addSettings(cmd *cobra.Command, settings []config.Setting, want func(config.Setting) bool) (keys []string) {
	for _, setting := range settings {
		if !want(setting) {
			continue
		}
		keys = append(keys, setting.Key)
		flag := cmd.Flags().VarPF(&given{Setting: setting}, setting.Flag, "", setting.Usage)
		if setting.Value == "" {
			flag.NoOptDefVal = "true"
		}
	}
	return keys
}

// givenFor returns the values given for a setting's flag; false says that there is no
// such flag, or that it was not given.
func givenFor(cmd *cobra.Command, name string) ([]string, bool) {
	flag := cmd.Flags().Lookup(name)
	if flag == nil {
		return nil, false
	}
	values := flag.Value.(*given).values
	return values, len(values) > 0
}

func (s *session) filePath(cmd *cobra.Command, file string) string {
	if file == "" && !cmd.Flags().Changed("config-file") {
		return s.env["GATEHOUSE_CONFIG_FILE"]
	}
	return file
}

func all(config.Setting) bool { return true }

func offline(s config.Setting) bool { return s.Offline }

func onlyAdmin(s config.Setting) bool { return s.Key == "adminAddress" }
