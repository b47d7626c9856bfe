package retain

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/pkg/journal"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// atOnce is how many records are encoded before they are written.
const atOnce = 256

// Run writes what is to be kept until ctx ends, and then what is left.
func (s *Store) Run(ctx context.Context) error {
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			s.write()
			return nil
		case <-s.wake:
		case <-retry.C:
		}
		if !s.write() {
			retry.Reset(s.Retry)
		}
	}
}

// write takes what waits to the disk, and reports whether that went well.
func (s *Store) write() bool {
	s.mu.Lock()
	batch, done := s.waiting, s.done
	s.waiting, s.done = map[store.Key]Revision{}, make(chan struct{})
	s.mu.Unlock()
	defer close(done)
	if len(batch) == 0 {
		return s.tidy() == nil
	}
	var err error
	for keys := range slices.Chunk(slices.SortedFunc(maps.Keys(batch), store.Key.Compare), atOnce) {
		if err = s.writeSome(keys, batch); err != nil {
			break
		}
	}
	s.tell(err, batch)
	return err == nil
}

// tell notes how writing went. What failed waits for the next attempt, unless there is
// something newer.
func (s *Store) tell(err error, batch map[store.Key]Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.failed
	s.stalled, s.failed = false, err != nil
	if err == nil {
		s.Metrics.RetainedOnDisk.Set(1)
		if before {
			s.Log.Info("accepted revisions are saved again", observe.KeyPath, s.Dir)
		}
		return
	}
	for key, r := range batch {
		if _, newer := s.waiting[key]; !newer {
			s.waiting[key] = r
		}
	}
	s.Metrics.RetainedOnDisk.Set(0)
	s.Metrics.RetainedFailures.Inc()
	if !before {
		s.Log.Warn("accepted revisions cannot be saved, trying again; updates go on, but after a restart a rejected object may have none to fall back to", observe.KeyPath, s.Dir, observe.KeyError, err)
	}
}

// stall notes that the disk takes too long.
func (s *Store) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stalled {
		s.stalled = true
		s.Metrics.RetainedOnDisk.Set(0)
		s.Metrics.RetainedFailures.Inc()
		s.Log.Warn("accepted revisions are not saved in time, going on without; make the disk of the state directory faster", observe.KeyPath, s.Dir, observe.KeyTook, s.Wait)
	}
}

// writeSome appends records of a batch that are news.
func (s *Store) writeSome(keys []store.Key, batch map[store.Key]Revision) error {
	records := map[*journal.Journal][]journal.Record{}
	marks := map[*journal.Journal]map[store.Key]mark{}
	for _, key := range keys {
		record, m, news := s.record(batch[key])
		if news {
			j := s.journalOf(key)
			if marks[j] == nil {
				marks[j] = map[store.Key]mark{}
			}
			marks[j][key] = m
			records[j] = append(records[j], record)
		}
	}
	for _, j := range s.journals { // what one of them has is known, whatever becomes of the other
		if len(records[j]) == 0 {
			continue
		}
		if err := s.append(j, records[j]); err != nil {
			return err
		}
		s.note(marks[j])
	}
	return s.tidy()
}

// record is how a revision is written, and whether it is news.
func (s *Store) record(r Revision) (journal.Record, mark, bool) {
	s.mu.Lock()
	was, known := s.known[r.Key]
	s.mu.Unlock()
	out := journal.Record{Key: r.Key.String()}
	if r.Object == nil {
		return out, mark{}, known
	}
	text, err := json.Marshal(r.Object)
	if err != nil {
		return out, mark{}, known // no type of ours fails
	}
	m := mark{about{unix(r.Accepted), unix(r.Rejected), r.Object.GetGeneration(), r.File}, maphash.Bytes(seed, text)}
	if known && m.sum == was.sum {
		m.Accepted = was.Accepted
	}
	out.Value, err = encode(m.about, text)
	return out, m, err == nil && (!known || m != was)
}

// note takes what was written for known.
func (s *Store) note(marks map[store.Key]mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, m := range marks {
		_, had := s.known[key]
		s.secrets = s.secrets || had && key.Collection == "Secret"
		if m == (mark{}) {
			delete(s.known, key)
		} else {
			s.known[key] = m
		}
	}
}

// append adds records to a journal, which is mended if need be.
func (s *Store) append(j *journal.Journal, records []journal.Record) error {
	err := j.Append(records...)
	if !errors.Is(err, journal.ErrUnfit) {
		return err
	}
	lost, err := j.Mend()
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		s.lose(lost)
		s.Log.Warn("accepted revisions were lost: their file was changed by somebody else; they are saved again when they change", observe.KeyPath, s.Dir, observe.KeyObjects, len(lost))
	}
	return j.Append(records...)
}

func (s *Store) lose(keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		delete(s.known, keyOf(key))
	}
}

// tidy writes journals anew that have much of no use, or an earlier Secret.
func (s *Store) tidy() error {
	for i, j := range s.journals {
		if !j.Wasteful() && !(i == 1 && s.secrets) {
			continue
		}
		if err := j.Compact(); err != nil {
			return err
		}
		s.secrets = s.secrets && i == 0
	}
	return nil
}
