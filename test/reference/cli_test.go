package reference

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatehouse-proxy/gatehouse/internal/cli"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
)

func cliPage(t *testing.T) []byte {
	t.Helper()
	m := &markdown{}
	m.text("# Command line")
	m.text("Data goes to standard output, everything else to standard error. The exit code is 0 on success, 1 on a failure or a failed check, 2 on wrong usage.")
	commandSections(t, m, cli.Commands())
	settingsSection(m)
	routerSection(m)
	fleetSection(m)
	egressSection(m)
	return m.Bytes()
}

func commandSections(t *testing.T, m *markdown, parent *cobra.Command) {
	t.Helper()
	for _, cmd := range parent.Commands() {
		if cmd.IsAvailableCommand() {
			commandSection(t, m, cmd)
			commandSections(t, m, cmd)
		}
	}
}

func commandSection(t *testing.T, m *markdown, cmd *cobra.Command) {
	t.Helper()
	if cmd.Short == "" || cmd.Example == "" {
		t.Errorf("command %s has no sentence or no example", cmd.CommandPath())
	}
	m.text("## %s", cmd.CommandPath())
	m.text("%s.", cmd.Short)
	m.text("```sh\n%s\n```", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	if cmd.Long != "" {
		m.text("%s", strings.ReplaceAll(cmd.Long, "\n", " "))
	}
	m.text("Usage: `%s`", cmd.UseLine())
	if !cmd.HasAvailableLocalFlags() {
		return
	}
	m.head("flag", "default", "meaning")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		if f.Usage == "" {
			t.Errorf("%s --%s has no usage", cmd.CommandPath(), f.Name)
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		m.row(code(name), code(f.DefValue), usage)
	})
	m.gap()
}

func settingsSection(m *markdown) {
	m.text("## Settings")
	m.text("Every setting of `gatehouse run` can be given as a flag, in the environment, or in the YAML file that `--config-file` or `GATEHOUSE_CONFIG_FILE` names; the first of these that has it wins. An empty variable counts as unset. The file is strict: a key that is no setting is an error, with its line. Relative paths in it are relative to the file. All errors are told at once.")
	m.head("key in the file", "flag", "variable", "default", "meaning")
	for _, s := range config.Settings() {
		m.row(code(s.Key), code("--"+s.Flag), code(s.Env), code(s.Default), s.Usage)
	}
	m.gap()
	m.text("For example:")
	m.text("```yaml\nconfig: [objects]\nadminAddress: 127.0.0.1:19000\nfeatures:\n  experimental: true\nlog:\n  format: json\n```")
}

func routerSection(m *markdown) {
	m.text("## Settings of the database router")
	m.text("Every setting of `gatehouse postgres` can be given as a flag or in the environment; the flag wins. The variables are those of the xdatabase-proxy, and so are the defaults. An empty variable counts as unset; one with a value that cannot be read is an error that names it, and so is one whose feature is not available yet: `TLS_SECRET_NAME`, `KUBE_CONTEXT`. All errors are told at once. Older variables still count: `POSTGRESQL_PROXY_ENABLED` and `TLS_ENABLE_SELF_SIGNED`, of which only `true` asks for something, and those in the table, which win over the newer ones.")
	m.head("flag", "variable", "older variable", "default", "meaning")
	for _, s := range config.PostgresSettings() {
		m.row(code("--"+s.Flag), code(s.Env), code(s.Older), code(s.Default), s.Usage)
	}
	m.gap()
}

func fleetSection(m *markdown) {
	m.text("## Settings of a fleet")
	m.text("Every setting of `gatehouse fleet` can be given as a flag or in the environment; the flag wins. An empty variable counts as unset. `HCLOUD_TOKEN` has the token of hetzner where `providerConfigRef` names none; it is no flag, so that no list of processes shows it. All errors are told at once.")
	m.head("flag", "variable", "default", "meaning")
	for _, s := range config.FleetSettings() {
		m.row(code("--"+s.Flag), code(s.Env), code(s.Default), s.Usage)
	}
	m.gap()
}

func egressSection(m *markdown) {
	m.text("## Settings of a super-proxy")
	m.text("Every setting of `gatehouse egress` can be given as a flag or in the environment; the flag wins. An empty variable counts as unset. `DISCOVERY_TOKEN` has the token of the lease API; it is no flag, so that no list of processes shows it. All errors are told at once.")
	m.head("flag", "variable", "default", "meaning")
	for _, s := range config.EgressSettings() {
		m.row(code("--"+s.Flag), code(s.Env), code(s.Default), s.Usage)
	}
	m.gap()
}
