package pgwire

import "bytes"

// ServerError is what a Tracker keeps of an ErrorResponse.
type ServerError struct {
	Severity Severity // empty if the server is older than 9.6 and speaks no English
	SQLSTATE string   // five characters; empty if there was none
}

// errorFields reads the fields of an ErrorResponse that it is fed in pieces, and keeps
// three of them.
type errorFields struct {
	field    byte // the field that the next byte belongs to; 0 between two
	size     uint8
	value    [8]byte // of the field, as far as it has room
	severity Severity
	plain    bool // severity is field V, and S cannot change it
	code     [5]byte
	complete bool // nothing that follows matters
}

func (f *errorFields) feed(payload []byte) {
	for len(payload) > 0 && !f.complete {
		if f.field == 0 {
			f.field, payload = payload[0], payload[1:]
			f.size, f.complete = 0, f.field == 0
			continue
		}
		end := bytes.IndexByte(payload, 0)
		if end < 0 {
			f.keep(payload)
			return
		}
		f.keep(payload[:end])
		f.end()
		payload = payload[end+1:]
	}
}

func (f *errorFields) keep(piece []byte) {
	f.size += uint8(copy(f.value[f.size:], piece))
}

func (f *errorFields) end() {
	value := f.value[:f.size]
	switch {
	case f.field == 'C' && len(value) == len(f.code):
		copy(f.code[:], value)
	case f.field == 'V', f.field == 'S' && !f.plain:
		f.severity, f.plain = severityOf(value), f.field == 'V'
	}
	f.field = 0
}

func severityOf(value []byte) Severity {
	switch string(value) {
	case string(Error):
		return Error
	case string(Fatal):
		return Fatal
	case string(Panic):
		return Panic
	default:
		return ""
	}
}

// serverError is what was kept.
func (f *errorFields) serverError() ServerError {
	kept := ServerError{Severity: f.severity}
	if f.code != [5]byte{} {
		kept.SQLSTATE = string(f.code[:])
	}
	return kept
}
