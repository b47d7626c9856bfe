package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// jsonSyntaxError is text that is not JSON; it may still be YAML.
type jsonSyntaxError struct {
	line int
	what string
}

func (e *jsonSyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

// jsonReader reads one JSON value token by token to know the lines.
type jsonReader struct {
	dec    *json.Decoder
	text   []byte
	line   int   // of offset at
	at     int64 // how far lines are counted
	budget budget
}

// parseJSON returns an *inputError or a *jsonSyntaxError.
func parseJSON(doc Document) (*node, error) {
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(doc.Text)), text: doc.Text, line: doc.start, budget: budget{MaxNodes}}
	r.dec.UseNumber()
	root, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &jsonSyntaxError{r.here(), "text after the end of the object"}
	}
	return root, nil
}

// here returns the line of the token last read.
func (r *jsonReader) here() int {
	to := min(r.dec.InputOffset(), int64(len(r.text)))
	r.line += bytes.Count(r.text[r.at:to], []byte("\n"))
	r.at = to
	return r.line
}

func (r *jsonReader) token() (json.Token, int, error) {
	t, err := r.dec.Token()
	if err == nil {
		return t, r.here(), nil
	}
	what := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		what = "the text ends in the middle of the object"
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && e.Offset > r.at {
		r.line += bytes.Count(r.text[r.at:min(e.Offset, int64(len(r.text)))], []byte("\n"))
		r.at = min(e.Offset, int64(len(r.text)))
	}
	return nil, 0, &jsonSyntaxError{r.line, what}
}

func (r *jsonReader) value(depth int) (*node, error) {
	t, line, err := r.token()
	if err != nil {
		return nil, err
	}
	if err := r.budget.take(line, depth); err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return r.object(line, depth)
		}
		return r.array(line, depth)
	case json.Number:
		return jsonNumber(t, line)
	case string:
		return &node{shape: isText, line: line, scalar: t}, nil
	case bool:
		return &node{shape: isBool, line: line, scalar: t}, nil
	}
	return &node{shape: isNull, line: line}, nil
}

func (r *jsonReader) object(line, depth int) (*node, error) {
	n := &node{shape: isMap, line: line}
	seen := map[string]int{}
	for r.dec.More() {
		t, at, err := r.token()
		if err != nil {
			return nil, err
		}
		key := t.(string) // the decoder refuses any other key
		if first, dup := seen[key]; dup {
			return nil, duplicateKey(key, at, first)
		}
		seen[key] = at
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, under(err, key)
		}
		n.fields = append(n.fields, member{key, at, v})
	}
	_, _, err := r.token()
	return n, err
}

func (r *jsonReader) array(line, depth int) (*node, error) {
	n := &node{shape: isList, line: line}
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, under(err, index(len(n.items)))
		}
		n.items = append(n.items, v)
	}
	_, _, err := r.token()
	return n, err
}

func jsonNumber(num json.Number, line int) (*node, error) {
	if i, err := num.Int64(); err == nil {
		return &node{shape: isInt, line: line, scalar: i}, nil
	}
	f, err := strconv.ParseFloat(num.String(), 64)
	if err != nil {
		return nil, refuse(InvalidValue, line, "number out of range; write a smaller one")
	}
	return number(f, line), nil
}
