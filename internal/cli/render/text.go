package render

import (
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// fielded puts the field before a message that does not name it.
func fielded(field, message string) string {
	if field == "" || strings.HasPrefix(message, field) || strings.ContainsAny(field, ".[") && strings.Contains(message, field) {
		return message
	}
	return field + ": " + message
}

// remedied appends what to do, from the documentation of the reason, unless the
// message says so itself.
func remedied(reason, message string) string {
	r, known := verdict.ReasonNamed(reason)
	if !known || r.Remedy == "" || strings.Contains(message, " → ") {
		return message
	}
	if words := strings.Fields(r.Remedy); strings.Contains(strings.ToLower(message), strings.ToLower(strings.Join(words[:min(3, len(words))], " "))) {
		return message
	}
	return message + " → " + r.Remedy
}

// self tells whether messages of a stage always say themselves what to do.
func self(s verdict.Stage) bool { return s == verdict.Watch || s == verdict.Accept }
