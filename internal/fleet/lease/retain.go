package lease

import "context"

// Retain removes the proxies that keep does not want: those that went while nobody told
// of it. It is called once all that there are have been told.
func (s *Memory) Retain(ctx context.Context, keep func(uid string) bool) error {
	for _, uid := range s.uids() {
		if !keep(uid) {
			_ = s.Remove(ctx, uid) // it has no other error than none
		}
	}
	return nil
}

func (s *Memory) uids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	uids := make([]string, 0, len(s.members))
	for uid := range s.members {
		uids = append(uids, uid)
	}
	return uids
}
