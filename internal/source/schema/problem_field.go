package schema

import (
	"cmp"
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
		at, line := root.find(path)
		if at != nil && at.shape == isMap {
			line = cmp.Or(at.lineWith(e.BadValue), line) // a label, say
		}
		out = append(out, Problem{Reason: reason, Field: path, Line: line, Message: explain(e, at, kind)})
	}
	return out
}

// explain says value, cause and remedy of one error in one line; at is where the
// document has the field, or nil.
func explain(e *field.Error, at *node, kind string) string {
	cause, remedy := causeOf(e)
	if shown := valueOf(e, at); shown != "" && !hidden(kind) {
		cause = shown + ": " + cause
	}
	if remedy == "" {
		return cause
	}
	return cause + "; " + remedy
}

// valueOf returns the refused value as the document writes it. The validators
// know it with defaults, or only its type.
func valueOf(e *field.Error, at *node) string {
	switch {
	case e.Type == field.ErrorTypeRequired, e.Type == field.ErrorTypeForbidden, e.BadValue == field.OmitValueType{}:
		return ""
	case at != nil && at.shape < isList && at.shape != isNull:
		return at.written()
	case e.Type == field.ErrorTypeDuplicate:
		return showShort(e.BadValue)
	case e.Type == field.ErrorTypeTypeInvalid, e.BadValue == "object", e.BadValue == "array":
		return ""
	}
	return show(e.BadValue)
}

func causeOf(e *field.Error) (cause, remedy string) {
	detail := tidy(e.Detail)
	switch t := e.Type; {
	case t == field.ErrorTypeRequired:
		return orElse(detail, "required field is missing"), "add it"
	case t == field.ErrorTypeNotSupported:
		return "not supported", "use one of " + strings.TrimPrefix(detail, "supported values: ")
	case t == field.ErrorTypeDuplicate:
		return orElse(detail, "appears twice"), "remove or rename one"
	case t == field.ErrorTypeForbidden:
		return orElse(detail, "not allowed here"), "remove it"
	case t == field.ErrorTypeTooMany:
		return orElse(detail, "too many"), "remove some"
	case t == field.ErrorTypeTooLong:
		return orElse(detail, "too long"), "shorten it"
	case t == field.ErrorTypeTypeInvalid:
		if strings.HasPrefix(detail, "must be of type string") {
			return detail, "quote it"
		}
		return orElse(detail, "wrong type"), "change the value"
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
	exampleOf = regexp.MustCompile(` \(e\.g\. .*regex used for validation is '.*'\)`)
	inBody    = regexp.MustCompile(`^\S* ?in body (should|must) `)
	typeError = regexp.MustCompile(`^must be of type (\w+): "(\w*)"$`)
)

// tidy rewrites the wording of the OpenAPI validator to say only the cause.
func tidy(detail string) string {
	detail = exampleOf.ReplaceAllString(oneLine(detail), "")
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

// showShort also shows a mapping, if it is short: the key of a list's item.
func showShort(v any) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) > maxShown {
		return ""
	}
	return string(b)
}
