package compile

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	gatehouse_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/gateway/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

const (
	defaultLogLevel = "warning"
	maxConcurrency  = 1024
)

var logLevels = []string{"trace", "debug", "info", "warning", "error", "critical", "off"}

// config is a GatewayConfig, checked.
type config struct {
	Spec    gatehouse_v1alpha1.GatewayConfigSpec
	Problem *problem
}

func checkConfig(_ *derive.Ctx, _ string, object *gatehouse_v1alpha1.GatewayConfig) (config, bool) {
	return config{object.Spec, configProblem(object.Spec)}, true
}

func configProblem(spec gatehouse_v1alpha1.GatewayConfigSpec) *problem {
	concurrency := orElse(spec.Concurrency, 1)
	level := orElse(spec.LogLevel, defaultLogLevel)
	switch {
	case concurrency < 1 || concurrency > maxConcurrency:
		return problemf(verdict.UnsupportedValue, "spec.concurrency", "%d: must be between 1 and %d", concurrency, maxConcurrency)
	case !slices.Contains(logLevels, level):
		return problemf(verdict.UnsupportedValue, "spec.logLevel", "%q: must be one of %s", level, strings.Join(logLevels, ", "))
	case spec.AccessLog != nil && spec.AccessLog.Path == "":
		return problemf(verdict.UnsupportedValue, "spec.accessLog.path", `"": must be a file, or "-" for standard output`)
	case spec.AccessLog != nil && !isFile(spec.AccessLog.Path):
		return problemf(verdict.UnsupportedValue, "spec.accessLog.path", `%q: must be a file by its absolute path, or "-" for standard output`, spec.AccessLog.Path)
	case spec.AccessLog != nil && strings.ContainsFunc(spec.AccessLog.Path, unicode.IsControl):
		return problemf(verdict.UnsupportedValue, "spec.accessLog.path", "%q: must not contain control characters", spec.AccessLog.Path)
	}
	for i, name := range spec.Statistics {
		if name == "" {
			return problemf(verdict.UnsupportedValue, indexed("spec.statistics", i), `"": must be the beginning of a name, for example "cluster."`)
		}
	}
	return nil
}

// isFile tells that a log can be written to a path, by what the path says alone.
func isFile(log string) bool {
	name := log[strings.LastIndex(log, "/")+1:]
	return log == "-" || log[0] == '/' && name != "" && name != "." && name != ".." && len(name) < 256 && len(log) < 4096
}

// settle lays a Gateway's own settings over those of its class, field by field,
// and both over the defaults.
func settle(class, own gatehouse_v1alpha1.GatewayConfigSpec) model.Settings {
	concurrency := cmp.Or(own.Concurrency, class.Concurrency)
	log := cmp.Or(own.AccessLog, class.AccessLog)
	settings := model.Settings{
		Concurrency: uint32(orElse(concurrency, 0)),
		LogLevel:    orElse(cmp.Or(own.LogLevel, class.LogLevel), defaultLogLevel),
		Statistics:  own.Statistics,
	}
	if own.Statistics == nil {
		settings.Statistics = class.Statistics
	}
	if log != nil {
		settings.AccessLog = log.Path
	}
	return settings
}

// configFinding decides over a GatewayConfig.
func (b *build) configFinding(c *derive.Ctx, key string, _ *gatehouse_v1alpha1.GatewayConfig) (Finding, bool) {
	self := store.Key{Collection: kindGatewayConfig, Name: key}
	at, _ := derive.Get(c, b.configs, key)
	switch {
	case at.Problem != nil:
		return fail(self, at.Problem), true
	case !derive.Exists(c, b.residentsByConfig, key):
		return exclude(self, problemf(verdict.NotReferenced, "", "no accepted Gateway and no class of one refers to it")), true
	default:
		return serve(self, ok(verdict.Referenced, "accepted Gateways have these settings")), true
	}
}
