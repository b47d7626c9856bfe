package admin

import (
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Remedy returns what to do about a step, from the documentation of its reason;
// it is empty for good news, and where the message says it already.
func Remedy(s verdict.Step) string {
	r, known := verdict.ReasonNamed(s.Reason)
	switch {
	case !known || s.Outcome == verdict.OK || r.Remedy == "":
		return ""
	case s.Stage == verdict.Watch || s.Stage == verdict.Accept: // their messages end with the remedy
		return ""
	case strings.Contains(s.Message, " → ") || saysSo(s.Message, r.Remedy):
		return ""
	}
	return r.Remedy
}

// saysSo compares the first words: "Add a ReferenceGrant".
func saysSo(message, remedy string) bool {
	words := strings.Fields(remedy)
	begin := strings.Join(words[:min(3, len(words))], " ")
	return strings.Contains(strings.ToLower(message), strings.ToLower(begin))
}
