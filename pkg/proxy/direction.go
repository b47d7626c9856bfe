package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync/atomic"
)

// direction carries what one side sends. Only its goroutine writes to the other
// side, so that last words follow everything forwarded before.
type direction struct {
	relay    *Relay
	side     Party // where the bytes come from
	from, to net.Conn
	observe  Observer
	back     *direction // the other direction
	bytes    atomic.Int64

	final    []byte // last words to the other side; set by Relay.stop
	writeErr error

	steps // on a loop
}

// run forwards until the stream ends, says the last words, passes the end on,
// and takes in what still comes: a socket that is closed with bytes unread resets
// its connection, and the reset can overtake the last words.
func (d *direction) run() {
	defer func() {
		if v := recover(); v != nil {
			d.relay.panicked(&PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	src := newSource(d.from)
	err := src.read(d.take)
	if d.finish(err) && d.relay.grant(d.from.SetReadDeadline) {
		_ = src.read(func([]byte) bool { return true })
	}
}

// take observes a chunk and forwards it. It returns false if nothing may follow.
func (d *direction) take(chunk []byte) bool {
	forward, more := d.judge(chunk)
	if len(forward) == 0 {
		return more
	}
	d.bytes.Add(int64(len(forward)))
	n, err := d.send(forward)
	if err != nil {
		d.bytes.Add(int64(n - len(forward)))
		d.writeErr = err
	}
	return more && err == nil
}

// send writes all of p, in records that are not larger than the relay's.
func (d *direction) send(p []byte) (sent int, err error) {
	most := d.relay.options.Record
	if _, secure := d.to.(*tls.Conn); !secure || most == 0 {
		most = len(p)
	}
	for sent < len(p) && err == nil {
		var n int
		n, err = d.to.Write(p[sent:min(sent+most, len(p))])
		sent += n
	}
	return sent, err
}

// judge asks the observer how much of a chunk is forwarded, in one step with
// whether anything still is.
func (d *direction) judge(chunk []byte) (forward []byte, more bool) {
	r := d.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil, false
	}
	if d.observe == nil {
		return chunk, true
	}
	verdict := d.observe(chunk)
	if !verdict.Stop {
		return chunk, true
	}
	r.stop(verdict.Final)
	return chunk[:verdict.Forward], false
}

// finish ends the direction after its source ended with err, or take ended it.
// It reports whether the source may still send.
func (d *direction) finish(err error) (listen bool) {
	if errors.Is(err, net.ErrClosed) || errors.Is(d.writeErr, net.ErrClosed) {
		d.relay.abort() // somebody closed a connection under the relay
		return false
	}
	if d.writeErr != nil {
		_, aborted := d.relay.end(d.back.side, d.writeErr)
		d.relay.bound(d)
		return err == nil && !aborted
	}
	failure := err
	if err == io.EOF { //nolint:errorlint // as io.Reader has it
		failure = nil
	}
	switch stopped, aborted := d.relay.end(d.side, failure); {
	case aborted:
		return false
	case stopped:
		d.lastWords()
		return err == nil || ours(err)
	}
	d.relay.bound(d)
	closeWrite(d.to)
	return false
}

// lastWords closes the stream to the other side, with what the owner has to say. The
// other side has its time from now on: a busy machine may come here long after stop.
func (d *direction) lastWords() {
	if len(d.final) > 0 {
		if !d.relay.grant(d.to.SetWriteDeadline) {
			return
		}
		if _, err := d.to.Write(d.final); err != nil {
			return
		}
	}
	closeWrite(d.to)
}
