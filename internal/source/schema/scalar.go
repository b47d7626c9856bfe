package schema

import (
	"encoding/json"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// scalar reads a YAML scalar as kubectl does: YAML 1.1, in which an unquoted yes,
// no, on or off is a boolean, and a date is a string.
func scalar(y *yaml.Node, line int) (*node, error) {
	n := &node{line: line, shape: isText, scalar: y.Value}
	switch tag := y.ShortTag(); tag {
	case "!!str", "!!timestamp":
		if b, old := oldBool(y); old {
			n.shape, n.scalar, n.raw = isBool, b, y.Value
		}
		return n, nil
	case "!!null":
		return &node{shape: isNull, line: line}, nil
	case "!!bool":
		n.shape = isBool
		var b bool
		err := y.Decode(&b)
		n.scalar = b
		return n, badScalar(err, y, line)
	case "!!int":
		return integer(y, line)
	case "!!float":
		return float(y, line)
	default:
		return nil, refuse(InvalidSyntax, line, "tag %s: Kubernetes objects have no such values; remove the tag", tag)
	}
}

func integer(y *yaml.Node, line int) (*node, error) {
	var i int64
	if err := y.Decode(&i); err == nil {
		return &node{shape: isInt, line: line, scalar: i}, nil
	}
	return float(y, line) // too large for 64 bits, as in JSON
}

func float(y *yaml.Node, line int) (*node, error) {
	var f float64
	if err := y.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, refuse(InvalidValue, line, "not a number that JSON has; write a finite number or quote it")
	}
	return number(f, line), nil
}

// number makes a node of a finite number: 1e3 and 5.0 are whole, so that they may
// stand where an integer is wanted.
func number(f float64, line int) *node {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return &node{shape: isInt, line: line, scalar: int64(f)}
	}
	return &node{shape: isFloat, line: line, scalar: f}
}

func badScalar(err error, y *yaml.Node, line int) error {
	if err == nil {
		return nil
	}
	return refuse(InvalidValue, line, "does not fit its tag %s; remove the tag or change the value", y.Tag)
}

// oldBool reads the booleans that only YAML 1.1 has.
func oldBool(y *yaml.Node) (value, ok bool) {
	if y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 {
		return false, false
	}
	switch y.Value {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// keyText returns a mapping's key. Numbers become text; any other key that is no
// string is refused, since tools disagree on what it becomes.
func keyText(y *yaml.Node, line int) (string, error) {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if y.Kind != yaml.ScalarNode {
		return "", refuse(InvalidSyntax, line, "a key is a list or mapping; keys are strings")
	}
	n, err := scalar(y, line)
	if err != nil {
		return "", err
	}
	switch {
	case n.shape == isText:
		return n.scalar.(string), nil
	case n.shape == isInt:
		return strconv.FormatInt(n.scalar.(int64), 10), nil
	case n.shape == isFloat:
		b, _ := json.Marshal(n.scalar) // finite, so it has a JSON form
		return string(b), nil
	}
	return "", refuse(InvalidSyntax, line, "key %s is a %s in YAML 1.1; quote it", strconv.Quote(y.Value), n.shape)
}
