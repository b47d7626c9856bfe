package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// problems turns the errors of the Kubernetes validators into Problems; root is
// where lines come from.
func problems(root *node, kind string, reason verdict.Reason, errs field.ErrorList) []Problem {
	out := make([]Problem, 0, len(errs))
	for _, e := range errs {
		path := strings.TrimPrefix(e.Field, "<nil>.")
		if path == "<nil>" || path == "." {
			path = ""
		}
		out = append(out, Problem{Reason: reason, Field: path, Line: root.lineOf(path), Message: explain(e, kind)})
	}
	return out
}

// explain says value, cause and remedy of one error in one line.
func explain(e *field.Error, kind string) string {
	cause, remedy := causeOf(e)
	if shown := show(e.BadValue); shown != "" && !hidden(kind) && e.Type != field.ErrorTypeRequired && e.Type != field.ErrorTypeForbidden {
		cause = shown + ": " + cause
	}
	if remedy == "" {
		return cause
	}
	return cause + "; " + remedy
}

func causeOf(e *field.Error) (cause, remedy string) {
	detail := tidy(e.Detail)
	switch e.Type {
	case field.ErrorTypeRequired:
		return orElse(detail, "required field is missing"), "add it"
	case field.ErrorTypeNotSupported:
		return "not supported", "use one of " + strings.TrimPrefix(detail, "supported values: ")
	case field.ErrorTypeDuplicate:
		return orElse(detail, "appears twice"), "remove or rename one"
	case field.ErrorTypeForbidden:
		return orElse(detail, "not allowed here"), "remove it"
	case field.ErrorTypeTooMany:
		return orElse(detail, "too many"), "remove some"
	case field.ErrorTypeTooLong:
		return orElse(detail, "too long"), "shorten it"
	case field.ErrorTypeTypeInvalid:
		return orElse(detail, "wrong type"), "change or quote the value"
	}
	return orElse(detail, "invalid value"), "change the value"
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

var (
	inBody    = regexp.MustCompile(`^\S* ?in body (should|must) `)
	typeError = regexp.MustCompile(`^must be of type (\w+): "(\w*)"$`)
)

// tidy rewrites the wording of the OpenAPI validator to say only the cause.
func tidy(detail string) string {
	detail = oneLine(detail)
	detail = inBody.ReplaceAllString(detail, "must ")
	if m := typeError.FindStringSubmatch(detail); m != nil {
		detail = fmt.Sprintf("must be of type %s, not %s", m[1], m[2])
	}
	return detail
}

// maxShown is how much of a value a message shows.
const maxShown = 80

// show returns a scalar as JSON, cut to a readable length, or "" for what has no
// short form.
func show(v any) string {
	switch v.(type) {
	case nil, field.OmitValueType, map[string]any, []any:
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil || len(b) == 0 || b[0] == '{' || b[0] == '[' {
		return ""
	}
	s := string(b)
	if s == `""` {
		return s
	}
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:maxShown], "") + `…"`
	}
	return s
}
