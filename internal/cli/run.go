package cli

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/app"
	"github.com/gatehouse-proxy/gatehouse/internal/cli/live"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func (s *session) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "run --config PATH...",
		Short:   "Serve a directory of Gateway API objects with Envoy, and follow every edit",
		Example: "  gatehouse run --config examples/shop",
		Long: "It prints 'ready' with the addresses once every accepted listener is acknowledged, then one\n" +
			"line for each change. Each flag can also be set in the environment (--admin-address is\n" +
			"GATEHOUSE_ADMIN_ADDRESS) or in --config-file (adminAddress); flags win, then the environment.",
		Args: cobra.ArbitraryArgs,
	}
	load := s.settingFlags(cmd, all)
	cmd.RunE = s.begin(func(cmd *cobra.Command, args []string) error {
		loaded, err := load(true, args...)
		if err != nil {
			return usage(err)
		}
		for _, line := range loaded.Warnings {
			s.warn(line)
		}
		io := s.io()
		io.Log, io.Live = s.runOutput(loaded)
		for _, g := range loaded.Given {
			io.Log.Debug("setting", observe.KeySetting, g.Key, observe.KeyValue, g.Value, observe.KeyFrom, g.From)
		}
		return app.Run(cmd.Context(), loaded.Run, io)
	})
	return cmd
}

// runOutput returns the log and the live view. On a terminal changes are shown as
// they come, and the log is for what the view does not show: warnings, unless a
// level was asked for. Elsewhere changes are logged.
func (s *session) runOutput(loaded config.Loaded) (*slog.Logger, observe.Live) {
	o := observe.LogOptions{Level: loaded.Run.LogLevel, JSON: loaded.Run.LogJSON}
	if _, ok := terminal(s.Out); ok && !o.JSON {
		if !isGiven(loaded.Given, "log.level") {
			o.Level = "warn"
		}
		return observe.NewLogger(s.Err, o), live.NewView(s.Out, s.style)
	}
	log := observe.NewLogger(s.Err, o)
	return log, live.NewLog(log, s.Out, s.style)
}

func isGiven(all []config.Given, key string) bool {
	for _, g := range all {
		if g.Key == key {
			return true
		}
	}
	return false
}

// io returns what app may write to; logs of commands that run nothing are warnings.
func (s *session) io() app.IO {
	return app.IO{Out: s.Out, Err: s.Err, Log: observe.NewLogger(s.Err, observe.LogOptions{Level: "warn"})}
}
