package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// learn keeps the key of a session that has just got one, unchanged, so that a cancel
// finds the server.
func (r *Router) learn(s *running) pgwire.Key {
	login := s.tracker.Login()
	if login.Key == (pgwire.Key{}) {
		return login.Key
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[login.Key] = s.address
	return login.Key
}

// forget drops the key of a session that is over.
func (r *Router) forget(s *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, s.key)
}

// cancel passes a cancel on to the server that gave the key, and returns once that has
// closed the connection: only then has it signalled, and the client may go on. Unknown
// keys are answered like known ones, with silence.
func (r *Router) cancel(ctx context.Context, key pgwire.Key) error {
	r.mu.Lock()
	address, known := r.keys[key]
	r.mu.Unlock()
	if !known {
		return nil
	}
	packet, err := pgwire.AppendCancelRequest(nil, key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.DialTimeout)
	defer cancel()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.SetDeadline(time.Now().Add(r.options.DialTimeout)); err != nil {
		return err
	}
	if _, err := server.Write(packet); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, server)
	return errors.Join(err, ctx.Err())
}
