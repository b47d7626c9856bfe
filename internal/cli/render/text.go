package render

import "strings"

// fielded puts the field before a message that does not name it.
func fielded(field, message string) string {
	if field == "" || strings.HasPrefix(message, field) || strings.ContainsAny(field, ".[") && strings.Contains(message, field) {
		return message
	}
	return field + ": " + message
}
