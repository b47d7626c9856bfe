package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// checkType compares nodes with a Go API type: unknown fields, wrong types, and
// numbers that do not fit. Null stands for absence, as in JSON decoding.
func checkType(n *node, t reflect.Type, path, kind string) []Problem {
	c := typeCheck{kind: kind, root: n}
	c.check(n, t, path)
	return c.out
}

type typeCheck struct {
	kind string
	root *node
	out  []Problem
}

func (c *typeCheck) add(n *node, path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if shown := n.written(); shown != "" && !hidden(c.kind) {
		message = shown + ": " + message
	}
	c.out = append(c.out, Problem{Reason: InvalidValue, Field: path, Line: n.line, Message: message})
}

func (c *typeCheck) check(n *node, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.shape == isNull:
	case t == reflect.TypeFor[intstr.IntOrString]():
		c.want(n, path, "integer or string", n.shape == isInt || n.shape == isText)
	case t == reflect.TypeFor[[]byte]():
		c.checkBytes(n, path)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		c.checkUnmarshal(n, t, path)
	default:
		c.checkKind(n, t, path)
	}
}

func (c *typeCheck) checkKind(n *node, t reflect.Type, path string) {
	switch k := t.Kind(); {
	case k == reflect.String:
		c.want(n, path, "string", n.shape == isText)
	case k == reflect.Bool:
		c.want(n, path, "boolean", n.shape == isBool)
	case k >= reflect.Int && k <= reflect.Int64:
		if c.want(n, path, "integer", n.shape == isInt) && reflect.Zero(t).OverflowInt(n.scalar.(int64)) {
			c.add(n, path, "does not fit %d bits; write a smaller number", t.Bits())
		}
	case k == reflect.Slice:
		if c.want(n, path, "list", n.shape == isList) {
			for i, item := range n.items {
				c.check(item, t.Elem(), path+index(i))
			}
		}
	case k == reflect.Map:
		if c.want(n, path, "mapping", n.shape == isMap) {
			for _, f := range n.fields {
				c.check(f.node, t.Elem(), path+"["+f.key+"]")
			}
		}
	case k == reflect.Struct:
		if c.want(n, path, "mapping", n.shape == isMap) {
			c.checkStruct(n, t, path)
		}
	}
}

func (c *typeCheck) checkStruct(n *node, t reflect.Type, path string) {
	types := map[string]reflect.Type{}
	var names []string
	for f := range jsonFields(t) {
		types[f.name] = f.typ
		names = append(names, f.name)
	}
	for _, f := range n.fields {
		at := join(path, f.key)
		if ft, ok := types[f.key]; ok {
			c.check(f.node, ft, at)
			continue
		}
		p := unknownField(n, f.key, names)
		p.Field, p.Line = at, f.line
		c.out = append(c.out, p)
	}
}

// want reports whether a value has the wanted type, and records it if not.
func (c *typeCheck) want(n *node, path, want string, ok bool) bool {
	if ok {
		return true
	}
	remedy := "change the value"
	if want == "string" && n.shape < isText {
		remedy = "quote it"
	}
	c.add(n, path, "must be of type %s, not %s; %s", want, n.shape, remedy)
	return false
}

func (c *typeCheck) checkBytes(n *node, path string) {
	if !c.want(n, path, "string", n.shape == isText) {
		return
	}
	// As encoding/json does, line ends are skipped.
	if _, err := base64.StdEncoding.DecodeString(n.scalar.(string)); err != nil {
		remedy := "encode it"
		if strings.HasPrefix(path, "data[") {
			remedy = "encode it, or put the plain text under stringData"
		}
		c.add(n, path, "not base64 (%v); %s", err, remedy)
	}
}

func (c *typeCheck) checkUnmarshal(n *node, t reflect.Type, path string) {
	b, err := json.Marshal(n.plain())
	if err == nil {
		err = json.Unmarshal(b, reflect.New(t).Interface())
	}
	if err != nil {
		c.add(n, path, "%s; change the value", oneLine(err.Error()))
	}
}
