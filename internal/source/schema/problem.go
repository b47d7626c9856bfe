package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Problem is one reason to refuse an object.
type Problem struct {
	Reason verdict.Reason
	// Field is the path of the field, for example "spec.rules[0].name"; it may be empty.
	Field string
	// Line of the file, from 1: of the field or, if it is missing, of its parent.
	Line int
	// Message says value, cause and remedy in one line, without the field.
	Message string
}

// Step returns the problem as a step of the stage Accept.
func (p Problem) Step() verdict.Step {
	return p.Reason.Step(verdict.Accept, verdict.WasRejected, p.Message).At(shortPath(p.Field))
}

// maxPath is how long a field's path is shown, in bytes.
const maxPath = 120

// shortPath leaves out the middle of a long path: nobody reads it, and its ends
// say where to look.
func shortPath(path string) string {
	if len(path) <= maxPath {
		return path
	}
	const half = (maxPath - len("…")) / 2
	return strings.ToValidUTF8(path[:half], "") + "…" + strings.ToValidUTF8(path[len(path)-half:], "")
}

// arrange sorts problems by line, drops repetitions, and keeps MaxProblems.
func arrange(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(a.Line-b.Line, strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
	})
	problems = slices.CompactFunc(problems, func(a, b Problem) bool {
		return a.Field == b.Field && a.Message == b.Message
	})
	if more := len(problems) - MaxProblems; more > 0 {
		problems = problems[:MaxProblems:MaxProblems]
		last := &problems[MaxProblems-1]
		last.Message = fmt.Sprintf("%s (and %d more problems in this object)", last.Message, more+1)
	}
	return problems
}

// hidden are the kinds whose values appear in no message.
func hidden(kind string) bool { return kind == "Secret" }

// oneLine makes a text from elsewhere fit a message.
func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}
