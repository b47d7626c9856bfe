package pgwire

import (
	"encoding/binary"
	"strings"
)

// Severity of an ErrorResponse, in the words that no server translates.
type Severity string

// Severities of errors. After Fatal and Panic the session ends.
const (
	Error Severity = "ERROR"
	Fatal Severity = "FATAL"
	Panic Severity = "PANIC"
)

// ErrorResponse is what a proxy tells a client in a server's place.
type ErrorResponse struct {
	Severity Severity // field S, which clients show, and V, which they compare
	SQLSTATE string   // five characters
	Message  string
	Hint     string // left out when empty
}

// Append adds the message to dst. A NUL, which would end a field early, is left out.
func (e ErrorResponse) Append(dst []byte) []byte {
	start := len(dst)
	out := appendField(append(dst, 'E', 0, 0, 0, 0), 'S', string(e.Severity))
	out = appendField(out, 'V', string(e.Severity))
	out = appendField(out, 'C', e.SQLSTATE)
	out = appendField(out, 'M', e.Message)
	if e.Hint != "" {
		out = appendField(out, 'H', e.Hint)
	}
	out = append(out, 0)
	binary.BigEndian.PutUint32(out[start+1:], uint32(len(out)-start-1))
	return out
}

func appendField(out []byte, field byte, value string) []byte {
	out = append(out, field)
	out = append(out, strings.ReplaceAll(value, "\x00", "")...)
	return append(out, 0)
}
