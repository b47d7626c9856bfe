package envoy

import (
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// unless is a fault of a value, or nothing where nothing is wrong.
func unless(field, value, why string) error {
	if why == "" {
		return nil
	}
	return &fault{Field: field, Value: value, Why: why}
}

// checkRegex refuses what RE2, which Envoy uses, would refuse.
func checkRegex(field, pattern string) error {
	return unless(field, pattern, model.ExpressionFault(pattern))
}

func checkPath(field, path string) error { return unless(field, path, model.PathFault(path)) }

func checkHostname(field, name string, wildcard bool) error {
	return unless(field, name, model.HostnameFault(name, wildcard))
}

func checkHeaderName(field, name string) error {
	return unless(field, name, model.HeaderNameFault(name))
}

func checkHeaderValue(field, value string) error {
	return unless(field, value, model.HeaderValueFault(value))
}

// checkEdited refuses headers that may not be edited.
func checkEdited(field, name string) error {
	return unless(field, name, model.EditedHeaderFault(name))
}

// checkName refuses an identity that cannot be written in configuration.
func checkName(field, name string) error {
	if name == "" {
		return faultf(field, name, "the name is empty")
	}
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return faultf(field, name, "a name must be UTF-8 without NUL")
	}
	return nil
}

func isIP(host string) bool { return model.IsAddress(host) }
