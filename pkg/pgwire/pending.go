package pgwire

// event is a message of the client that bears on which ReadyForQuery answers what.
type event uint8

const (
	// syncEvent ends extended messages, and owes one answer.
	syncEvent event = iota
	// bareSync has no extended message before it that it could end. Between a COPY's
	// Execute and its CopyDone the backend passes over Syncs; clients that sent one
	// with the Execute send a bare one after CopyDone.
	bareSync
	// query is a Query or a FunctionCall, and owes one answer.
	query
	// mixedQuery is a query after extended messages without a Sync. If one of those
	// fails, it is passed over; its count is how many they are.
	mixedQuery
	// copyEnd is a CopyDone or CopyFail, and owes nothing.
	copyEnd
	// unsyncedCopyEnd is a copyEnd with extended messages before it, but no Sync.
	unsyncedCopyEnd
	// blur stands for events that were too many to be told apart; its count is how
	// many answers they owe at most.
	blur
)

// run is an event, or several equal ones.
type run struct {
	event event
	count uint32
}

func (r run) owed() uint32 {
	switch r.event {
	case syncEvent, bareSync, query, blur:
		return r.count
	case mixedQuery:
		return 1
	default:
		return 0
	}
}

// maxRuns bounds what a session that pipelines costs. Equal events share a run, so that
// only a pipeline that alternates between simple and extended queries comes so far.
const maxRuns = 16

// pending are the events that the backend has not come to yet, as far as one can tell
// from its answers, oldest first. Where one cannot tell it has rather more than fewer:
// a session is called idle only if it is.
type pending struct {
	runs [maxRuns]run
	size int
	// doubt says that bareSyncs at the head may have been passed over.
	doubt bool
}

// add appends an event. A mixedQuery's count says what comes before it, and is its own.
func (p *pending) add(e event, count uint32) {
	if p.size > 0 {
		last := &p.runs[p.size-1]
		if last.event == e && e != mixedQuery {
			last.count += count
			return
		}
		if p.size == maxRuns {
			added := run{e, count}
			*last = run{blur, last.owed() + added.owed()}
			return
		}
	}
	p.runs[p.size] = run{e, count}
	p.size++
}

// owes tells whether an answer is to come.
func (p *pending) owes() bool {
	_, found := p.next()
	return found
}

// next is the index of the first run that is owed an answer.
func (p *pending) next() (int, bool) {
	for i, r := range p.runs[:p.size] {
		if r.owed() > 0 {
			return i, true
		}
	}
	return 0, false
}

// querying returns the query that the backend is at, if it is at one. It has answered
// so many extended messages since its last ReadyForQuery.
func (p *pending) querying(answered uint32) (int, bool) {
	i, found := p.next()
	if !found {
		return 0, false
	}
	r := p.runs[i]
	return i, r.event == query || r.event == mixedQuery && answered >= r.count
}

// ready takes away what one ReadyForQuery answers: the next event that is owed one, or,
// when the backend was skipping after an error, the next Sync and all before it.
func (p *pending) ready(skipping bool) {
	for done := false; !done && p.size > 0; {
		head := &p.runs[0]
		switch owed := head.owed(); {
		case owed == 0, skipping && (head.event == query || head.event == mixedQuery):
			p.remove(0, 1)
		case owed > 1:
			head.count--
			return
		default:
			p.remove(0, 1)
			done = true
		}
	}
	if p.size > 0 && p.runs[0].event == copyEnd {
		p.remove(0, 1) // of a COPY that is no longer under way
	}
	p.doubt = p.doubt && p.size > 0 && p.runs[0].event == bareSync
}

// copied takes away what the backend passed over in a COPY FROM STDIN that succeeded:
// all up to the CopyDone. The simple query that it belongs to is still to be answered.
func (p *pending) copied(at int, simple bool) {
	from := 0
	if simple {
		from = at + 1
	}
	for i := from; i < p.size; i++ {
		switch p.runs[i].event {
		case blur:
			return // the CopyDone is in it
		case copyEnd, unsyncedCopyEnd:
			p.runs[i].count--
			if p.runs[i].count == 0 {
				i++
			}
			p.remove(from, i)
			return
		default: // passed over
		}
	}
}

// copyFailed is called at the ReadyForQuery after a COPY FROM STDIN that failed. Nobody
// can tell whether the backend failed before it read the Syncs that it passes over.
func (p *pending) copyFailed() {
	p.doubt = p.size > 0 && p.runs[0].event == bareSync
}

// replied ends the doubt about Syncs at the head: the backend answers in order, and what
// it just sent is no answer to a Sync.
func (p *pending) replied() {
	for p.doubt && p.size > 0 && (p.runs[0].event == bareSync || p.runs[0].event == copyEnd) {
		p.remove(0, 1)
	}
	p.doubt = false
}

// remove takes runs[from:to] away.
func (p *pending) remove(from, to int) {
	copy(p.runs[from:], p.runs[to:p.size])
	p.size -= to - from
}
