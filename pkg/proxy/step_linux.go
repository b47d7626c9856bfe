package proxy

import "runtime/debug"

// phase is how far a direction on a loop has come.
type phase uint8

const (
	carrying  phase = iota
	parting         // what was written last has to leave
	listening       // what still comes is dropped
	over
)

// steps are direction.run in pieces that do not wait. The loop owns them.
type steps struct {
	circuit *circuit
	in      *seat // of from
	phase   phase
	listens bool // after parting
	queued  bool // for another turn
}

// atOnce is how many chunks a direction may carry until others have their turn.
const atOnce = 8

// advance does what can be done now, and reports whether there may be more.
func (d *direction) advance(buf []byte) (more bool) {
	defer func() {
		if v := recover(); v != nil {
			d.phase = over
			d.relay.panicked(&PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	for range atOnce {
		if !d.step(buf) {
			return false
		}
	}
	return true
}

// step returns false if there is nothing to do until something happens.
func (d *direction) step(buf []byte) bool {
	if d.phase < listening && !d.delivered() {
		return false
	}
	switch d.phase {
	case carrying:
		return d.carry(buf)
	case parting:
		d.phase = over
		if d.listens && d.relay.grant(d.from.SetReadDeadline) {
			d.phase = listening
		}
		return true
	case listening:
		_, err := d.from.Read(buf)
		if err != nil && err != errWouldBlock { //nolint:errorlint // it is never wrapped
			d.phase = over
		}
		return err == nil
	default:
		return false
	}
}

// delivered sends what is on its way to the other side, and reports whether
// nothing is any more.
func (d *direction) delivered() bool {
	to := d.back.in
	if !to.pending() {
		return true
	}
	if err := to.flush(); err != nil && d.phase == carrying {
		d.writeErr = err
		d.part(nil)
	}
	return !to.pending()
}

// carry forwards one chunk, if there is one.
func (d *direction) carry(buf []byte) bool {
	n, err := d.from.Read(buf)
	if n > 0 && !d.take(buf[:n]) {
		d.part(nil)
		return true
	}
	if err == errWouldBlock { //nolint:errorlint // it is never wrapped, and this is the hot path
		return false
	}
	if err != nil {
		d.part(err)
	}
	return true
}

// part ends the direction after its source has ended, as finish has it. What is
// on its way to the other side then has as long as last words have.
func (d *direction) part(err error) {
	d.listens = d.finish(err)
	d.phase = parting
	if to := d.back.in; to.pending() {
		to.setWriteDeadline(d.relay.soon())
	}
}
