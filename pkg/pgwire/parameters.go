package pgwire

import (
	"iter"
	"strings"
)

// Parameters are the names and values of a startup packet, in its order and with its
// duplicates. Names are never empty; neither has a NUL. Names that begin with "_pq_."
// are options of the protocol, for the backend. The zero value has none, and Parameters
// with the same bytes are equal.
//
// They are kept as they were sent, so that a packet of 10,000 bytes costs no more than
// that, and what is not changed stays byte for byte.
type Parameters struct {
	raw     string // name, NUL, value, NUL, and so on
	invalid bool   // Set was given what the wire cannot hold
}

// All yields every name and value, in order.
func (p Parameters) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for rest := p.raw; rest != ""; {
			name, value, next := cutParameter(rest)
			if !yield(name, value) {
				return
			}
			rest = next
		}
	}
}

// cutParameter takes the first of raw, which has been checked.
func cutParameter(raw string) (name, value, rest string) {
	name, rest, _ = strings.Cut(raw, "\x00")
	value, rest, _ = strings.Cut(rest, "\x00")
	return name, value, rest
}

// Get returns the value of name. Of duplicates the last counts, as it does in PostgreSQL.
func (p Parameters) Get(name string) (value string, ok bool) {
	for n, v := range p.All() {
		if n == name {
			value, ok = v, true
		}
	}
	return value, ok
}

// Set gives name a value where it stands: of duplicates the last, which is the one that
// counts. A new name goes to the end. Set a name that is empty, or anything with a NUL,
// and Append will return a MalformedError.
func (p *Parameters) Set(name, value string) {
	if name == "" || strings.Contains(name+value, "\x00") {
		p.invalid = true
		return
	}
	before, after := p.raw, ""
	for rest := p.raw; rest != ""; {
		n, _, next := cutParameter(rest)
		if n == name {
			before, after = p.raw[:len(p.raw)-len(rest)], next
		}
		rest = next
	}
	p.raw = before + name + "\x00" + value + "\x00" + after
}

// Delete takes every parameter of that name away.
func (p *Parameters) Delete(name string) {
	var kept strings.Builder
	for rest := p.raw; rest != ""; {
		n, _, next := cutParameter(rest)
		if n != name {
			kept.WriteString(rest[:len(rest)-len(next)])
		}
		rest = next
	}
	p.raw = kept.String()
}

// decodeParameters reads pairs of strings, each with a NUL at its end, and a last NUL.
func decodeParameters(body []byte) (Parameters, error) {
	text := string(body)
	for rest := text; ; {
		at := minPacket + len(text) - len(rest)
		name, after, found := strings.Cut(rest, "\x00")
		switch {
		case !found:
			return Parameters{}, malformedPacket(at, "the NUL at the end is missing")
		case name == "" && after == "":
			return Parameters{raw: text[:len(text)-1]}, nil
		case name == "":
			return Parameters{}, malformedPacket(at, "a parameter's name is empty, or bytes follow the end")
		}
		_, rest, found = strings.Cut(after, "\x00")
		if !found {
			return Parameters{}, malformedPacket(at+len(name)+1, "a parameter has no value")
		}
	}
}

func (p Parameters) appendTo(out []byte) ([]byte, error) {
	if p.invalid {
		return nil, malformedPacket(minPacket, "a parameter was set that has a NUL or no name")
	}
	return append(append(out, p.raw...), 0), nil
}
