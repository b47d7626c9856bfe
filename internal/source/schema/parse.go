package schema

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// parse turns a document into nodes. The error is an *inputError.
func parse(doc Document) (root *node, err error) {
	if err := checkText(doc); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil { // a defect of the YAML library must not end the process
			root, err = nil, refuse(InvalidSyntax, doc.Line, "cannot be parsed (%v); simplify the document", p)
		}
	}()
	if looksLikeJSON(doc.Text) {
		root, err = parseJSON(doc)
		syntax, ok := errors.AsType[*jsonSyntaxError](err)
		if !ok {
			return root, err
		}
		// A YAML flow mapping starts like JSON.
		if fromYAML, yamlErr := parseYAML(doc); yamlErr == nil {
			return fromYAML, nil
		}
		return nil, refuse(InvalidSyntax, syntax.line, "not JSON: %s; correct this line", syntax.what)
	}
	return parseYAML(doc)
}

// checkText refuses what is too large or is not text, before any parser sees it.
func checkText(doc Document) error {
	if len(doc.Text) > MaxDocumentBytes {
		return refuse(LimitExceeded, doc.Line, "document of %d bytes: at most %d are read; split it", len(doc.Text), MaxDocumentBytes)
	}
	at := bytes.IndexByte(doc.Text, 0)
	if at < 0 && !utf8.Valid(doc.Text) {
		at = firstInvalid(doc.Text)
	}
	if at < 0 {
		return nil
	}
	line := doc.start + bytes.Count(doc.Text[:at], []byte("\n"))
	return refuse(InvalidSyntax, line, "byte 0x%02x: not UTF-8 text; convert the file to UTF-8, or move it out of the directory if it is no configuration", doc.Text[at])
}

func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// refuse makes an *inputError.
func refuse(reason verdict.Reason, line int, format string, args ...any) error {
	return &inputError{Problem{Reason: reason, Line: line, Message: fmt.Sprintf(format, args...)}}
}

// budget bounds the values that one document may expand to.
type budget struct{ left int }

func (b *budget) take(line, depth int) error {
	b.left--
	switch {
	case b.left < 0:
		return refuse(LimitExceeded, line, "expands to more than %d values; remove the anchors and aliases that multiply them", MaxNodes)
	case depth > MaxDepth:
		return refuse(LimitExceeded, line, "nests deeper than %d levels; no Kubernetes object does, so flatten it", MaxDepth)
	}
	return nil
}

// duplicateKey is the refusal of a second equal key in a mapping.
func duplicateKey(key string, line, first int) error {
	err := refuse(DuplicateField, line, "key appears twice, first on line %d; remove one", first)
	return under(err, key)
}
