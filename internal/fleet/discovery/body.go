package discovery

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// form is a JSON object that is read member by member.
type form interface {
	// names are those of all members.
	names() []string
	// set takes a value for one of them, and refuses it.
	set(name string, value jsontext.Value) error
}

// buffers are reused: two are needed for every lease.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func buffer() *bytes.Buffer {
	return buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is put there
}

// keep takes a buffer back, if it is not large.
func keep(b *bytes.Buffer) {
	if b.Cap() <= maxKept {
		b.Reset()
		buffers.Put(b)
	}
}

const maxKept = 4 << 10

// read fills a form from the body of a request.
func read(r *http.Request, f form) error {
	if err := checkType(r); err != nil {
		return err
	}
	b := buffer()
	defer keep(b)
	if _, err := b.ReadFrom(r.Body); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return refuse(TooLarge, "the body has more than %d bytes: send less", MaxBody)
		}
		return refuse(InvalidBody, "the body ended early or came too slowly: send it again")
	}
	return parse(b.Bytes(), f)
}

// formType is what curl says of any body; what such a body has is read as JSON all the same.
const formType = "application/x-www-form-urlencoded"

// checkType refuses what says that it is something else than JSON.
func checkType(r *http.Request) error {
	if code := r.Header.Get("Content-Encoding"); code != "" && !strings.EqualFold(code, "identity") {
		return refuse(UnsupportedMedia, "Content-Encoding %s is not read: send the body as it is", show(code))
	}
	types := r.Header["Content-Type"]
	if len(types) == 0 || len(types) == 1 && types[0] == "application/json" {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(strings.Join(types, ", "))
	if charset := parameters["charset"]; err != nil || kind != "application/json" && kind != formType || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return refuse(UnsupportedMedia, "Content-Type %s is not read: send JSON in UTF-8 with Content-Type: application/json (curl: --json)", show(strings.Join(types, ", ")))
	}
	return nil
}

// decoders are reused too.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// parse fills a form from JSON, which is one object with members that the form knows, each
// once, and nothing behind it.
func parse(data []byte, f form) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return refuse(InvalidBody, "the body is empty: send a JSON object, {} if there is nothing to say")
	}
	d := decoders.Get().(*jsontext.Decoder) //nolint:forcetypeassert // nothing else is put there
	d.Reset(bytes.NewReader(data))
	defer decoders.Put(d)
	if kind := d.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		return refuse(InvalidBody, "the body is %s: send a JSON object", name(kind))
	}
	if _, err := d.ReadToken(); err != nil {
		return notJSON(err)
	}
	if err := members(d, f); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return refuse(InvalidBody, "the body goes on behind the JSON object: send one object and nothing else")
	}
	return nil
}

func members(d *jsontext.Decoder, f form) error {
	// What a form refuses is told once the rest is known to be JSON.
	var refused error
	for d.PeekKind() != jsontext.KindEndObject {
		token, err := d.ReadToken()
		if err != nil {
			return notJSON(err)
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return notJSON(err)
		}
		if refused == nil {
			refused = take(f, name, value)
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return notJSON(err)
	}
	return refused
}

func take(f form, name string, value jsontext.Value) error {
	if slices.Contains(f.names(), name) {
		return f.set(name, value)
	}
	return unknownName(InvalidBody, "field", name, f.names())
}

// unknownName says what a name was probably meant to be.
func unknownName(code Code, noun, name string, known []string) error {
	remedy := "there are " + strings.Join(known, ", ")
	if len(known) == 1 {
		remedy = "there is only " + known[0]
	}
	if closest, ok := spelling.Closest(name, known); ok {
		remedy = "did you mean " + closest + "? " + remedy
	}
	return refuse(code, "%s %s is not known: %s", noun, show(name), remedy).of(clip(name))
}

// clip keeps a field that a client made up short.
func clip(name string) string {
	if quoted := show(name); quoted != strconv.Quote(name) {
		return strings.Trim(quoted, `"…`)
	}
	return name
}

// notJSON says what is wrong with the syntax, and where.
func notJSON(err error) error {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok { // the end, where more is needed
		return refuse(InvalidBody, "the body is no JSON: it ends early: send a whole JSON object in UTF-8")
	}
	path := fieldOf(e.JSONPointer)
	switch {
	case errors.Is(e.Err, jsontext.ErrDuplicateName):
		return refuse(InvalidBody, "field %s comes twice: send it once", show(path)).of(clip(path))
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		return refuse(InvalidBody, "the body is no JSON: it ends early: send a whole JSON object in UTF-8").of(clip(path))
	}
	return refuse(InvalidBody, "the body is no JSON: %s, at byte %d: send a JSON object in UTF-8", oneLine(clip(e.Err.Error())), e.ByteOffset).of(clip(path))
}

// fieldOf writes a pointer as messages name fields: selector.country.
func fieldOf(p jsontext.Pointer) string {
	const deep = 3 // forms have less
	var parts []string
	for part := range p.Tokens() {
		if parts = append(parts, part); len(parts) == deep {
			break
		}
	}
	return strings.Join(parts, ".")
}

// name says what a value is.
func name(kind jsontext.Kind) string {
	switch kind {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginArray:
		return "an array"
	default:
		return "an object"
	}
}

func wrongType(field string, value jsontext.Value, want string) error {
	sent := name(value.Kind())
	switch value.Kind() {
	case jsontext.KindBeginArray, jsontext.KindBeginObject, jsontext.KindNull:
	default:
		sent += ", " + clip(oneLine(string(value)))
	}
	return refuse(InvalidBody, "%s is %s: send %s, or leave it out", field, sent, want).of(field)
}

// text reads a string.
func text(field string, value jsontext.Value) (string, error) {
	if value.Kind() != jsontext.KindString {
		return "", wrongType(field, value, "a string")
	}
	out, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "", notJSON(err)
	}
	return string(out), nil
}

// integer reads a number without fraction, also 3e2; ok is false for any other number.
func integer(field string, value jsontext.Value) (n int64, ok bool, err error) {
	if value.Kind() != jsontext.KindNumber {
		return 0, false, wrongType(field, value, "a number")
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false, nil //nolint:nilerr // it is too large
	}
	return int64(f), true, nil
}

// texts reads an array of strings.
func texts(field string, value jsontext.Value) ([]string, error) {
	if value.Kind() != jsontext.KindBeginArray {
		return nil, wrongType(field, value, "an array of strings")
	}
	out := []string{}
	err := within(value, jsontext.KindEndArray, func(d *jsontext.Decoder) error {
		item, err := d.ReadValue()
		if err != nil {
			return notJSON(err)
		}
		s, err := text(field+"["+strconv.Itoa(len(out))+"]", item)
		out = append(out, s)
		return err
	})
	return out, err
}

// pairs reads an object of strings.
func pairs(field string, value jsontext.Value) (map[string]string, error) {
	if value.Kind() != jsontext.KindBeginObject {
		return nil, wrongType(field, value, "an object of strings")
	}
	out := map[string]string{}
	err := within(value, jsontext.KindEndObject, func(d *jsontext.Decoder) error {
		token, err := d.ReadToken()
		if err != nil {
			return notJSON(err)
		}
		key := token.String()
		item, err := d.ReadValue()
		if err != nil {
			return notJSON(err)
		}
		out[key], err = text(field+"."+clip(oneLine(key)), item)
		return err
	})
	return out, err
}

// within calls each at every item of an array or object, which is known to be JSON.
func within(value jsontext.Value, end jsontext.Kind, each func(d *jsontext.Decoder) error) error {
	d := decoders.Get().(*jsontext.Decoder) //nolint:forcetypeassert // nothing else is put there
	d.Reset(bytes.NewReader(value))
	defer decoders.Put(d)
	if _, err := d.ReadToken(); err != nil {
		return notJSON(err)
	}
	for d.PeekKind() != end {
		if err := each(d); err != nil {
			return err
		}
	}
	return nil
}
