package pgwire

// backend is what a Tracker keeps of the server.
type backend struct {
	frames    framer
	status    byte        // of the last ReadyForQuery
	replying  bool        // an answer has begun since
	skipping  bool        // an extended message failed: the next Sync is what is answered
	answered  uint32      // extended messages answered since the last ReadyForQuery
	copying   CopyMode    // since the last CopyInResponse, CopyOutResponse or CopyBothResponse
	failed    bool        // a COPY FROM STDIN has, since the last ReadyForQuery
	next      byte        // the status in a ReadyForQuery that is not complete
	fields    errorFields // of an ErrorResponse that is not complete
	lastError errorFields
	small     []byte // payload of a message of the login, until that is complete
}

func (t *Tracker) backendPart(p part) {
	switch p.kind {
	case 'D', 'd': // DataRow, CopyData: most of all bytes
		t.replied()
		return
	case 'N', 'A', 'S': // NoticeResponse, NotificationResponse, ParameterStatus
		return
	case 'E':
		t.server.fields.feed(p.payload)
	case 'Z':
		if n := len(p.payload); n > 0 {
			t.server.next = p.payload[n-1]
		}
	case 'R', 'K', 'v': // Authentication, BackendKeyData, NegotiateProtocolVersion
		t.collect(p)
		return
	}
	if p.last {
		t.backendMessage(p.kind)
	}
}

// backendMessage is called at the end of each message that answers the client.
func (t *Tracker) backendMessage(kind byte) {
	if kind == 'Z' {
		t.ready()
		return
	}
	t.replied()
	switch kind {
	case '1', '2', '3', 'n', 'T', 'I', 's':
		t.server.answered++
	case 'C': // CommandComplete
		t.server.answered++
		t.copySucceeded()
	case 'E':
		t.failed()
	case 'G':
		t.server.copying = CopyIn
	case 'H':
		t.server.copying = CopyOut
	case 'W':
		t.server.copying = CopyBoth
	}
}

// replied notes an answer that is no ReadyForQuery.
func (t *Tracker) replied() {
	t.server.replying = true
	if t.queue.doubt {
		t.queue.replied()
	}
}

// ready notes a ReadyForQuery. The first ends the login and answers nothing else.
func (t *Tracker) ready() {
	s := &t.server
	if t.login.Ready {
		t.queue.ready(s.skipping)
		if s.failed {
			t.queue.copyFailed()
		}
	}
	t.login.Ready = true
	s.small = nil
	s.status, s.next = s.next, 0
	s.replying, s.skipping, s.failed = false, false, false
	s.answered = 0
	s.copying = NoCopy
}

func (t *Tracker) copySucceeded() {
	if t.server.copying == CopyIn {
		at, simple := t.queue.querying(t.server.answered)
		t.queue.copied(at, simple)
	}
	t.server.copying = NoCopy
}

// failed notes an ErrorResponse: what fails in an extended message makes the backend
// pass over everything up to the next Sync.
func (t *Tracker) failed() {
	s := &t.server
	s.lastError, s.fields = s.fields, errorFields{}
	if !t.login.Ready {
		return
	}
	_, simple := t.queue.querying(s.answered)
	s.skipping = !simple
	s.failed = s.copying == CopyIn
	s.copying = NoCopy
}
