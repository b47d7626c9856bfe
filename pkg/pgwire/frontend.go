package pgwire

import "bytes"

// frontend is what a Tracker keeps of the client.
type frontend struct {
	frames     framer
	unsynced   uint32 // extended messages since the last Sync or Query
	terminated bool
	answer     []byte // the first answer to SASL, until it is complete
}

// maxMechanism is more than the longest name of a SASL mechanism: 20 bytes by RFC 4422,
// and one that ends it.
const maxMechanism = 32

func (t *Tracker) frontendPart(p part) {
	if p.kind == 'p' {
		t.password(p)
	}
	if !p.last {
		return
	}
	switch p.kind {
	case 'P', 'B', 'D', 'E', 'C': // Parse, Bind, Describe, Execute, Close
		t.client.unsynced++
	case 'Q', 'F': // Query, FunctionCall
		t.query()
	case 'S':
		t.sync()
	case 'c', 'f': // CopyDone, CopyFail
		t.copyEnd()
	case 'd', 'H', 'p': // CopyData, Flush, passwords: nothing answers them alone
	case 'X':
		t.client.terminated = true
	default: // the backend will close
		t.client.unsynced++
	}
}

func (t *Tracker) query() {
	if n := t.client.unsynced; n > 0 {
		t.queue.add(mixedQuery, n)
	} else {
		t.queue.add(query, 1)
	}
	t.client.unsynced = 0
}

func (t *Tracker) sync() {
	if t.client.unsynced > 0 {
		t.queue.add(syncEvent, 1)
	} else {
		t.queue.add(bareSync, 1)
	}
	t.client.unsynced = 0
}

func (t *Tracker) copyEnd() {
	switch {
	case t.client.unsynced > 0:
		t.queue.add(unsyncedCopyEnd, 1)
	case t.queue.owes():
		t.queue.add(copyEnd, 1)
	}
	// Otherwise the COPY has failed before: the backend passes over it.
}

// password looks at what answers an authentication request. It keeps the begin of the
// first answer to SASL alone, which holds no secret.
func (t *Tracker) password(p part) {
	if t.login.Ready {
		return
	}
	if t.login.last() == AuthSASL && t.login.Mechanism == "" {
		t.client.answer = appendChoice(t.client.answer, p.payload)
		if p.last {
			t.login.choose(t.client.answer)
			t.client.answer = nil
		}
	}
	if p.last {
		t.login.Answers++
	}
}

// appendChoice keeps of a SASLInitialResponse the mechanism's name, the length of what
// follows, and the first byte of that: any more may be a secret.
func appendChoice(kept, payload []byte) []byte {
	for _, b := range payload {
		name := bytes.IndexByte(kept, 0)
		if name < 0 && len(kept) >= maxMechanism || name >= 0 && len(kept) >= name+6 {
			break
		}
		kept = append(kept, b)
	}
	return kept
}
