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
	var keys []string
	for _, setting := range config.Settings() {
		if !want(setting) {
			continue
		}
		keys = append(keys, setting.Key)
		flag := cmd.Flags().VarPF(&given{Setting: setting}, setting.Flag, "", setting.Usage)
		if setting.Value == "" {
			flag.NoOptDefVal = "true"
		}
	}
	return func(watch bool, more ...string) (config.Loaded, error) {
		return config.Load(config.Source{
			Environ: s.Environ, File: s.filePath(cmd, file), Watch: watch, Only: keys,
			Flag: func(name string) ([]string, bool) {
				flag := cmd.Flags().Lookup(name)
				if flag == nil {
					return nil, false
				}
				values := flag.Value.(*given).values
				if name == "config" {
					values = slices.Concat(values, more)
				}
				return values, len(values) > 0
			},
		})
	}
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
