package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// call is one operation. Its first argument is the time; again is which of them is set
// when it is made another time after an answer was lost, 0 for those that may be made
// twice.
type call struct {
	script
	args    []any
	again   int
	confirm bool // by replicas, where that is asked for
}

// answer is what a script says: what it is, and more.
type answer []any

// run makes a call until it is answered, or its time is over. A caller who hangs up puts the
// server in no doubt.
func (s *Store) run(caller context.Context, c call) (answer, error) {
	ctx, cancel := context.WithTimeout(caller, callTimeout)
	defer cancel()
	perhaps := false
	for tries := 0; ; {
		a, err := s.once(ctx, c)
		perhaps = perhaps || err != nil && lost(err)
		if err != nil && caller.Err() == nil {
			s.given.suspect()
		}
		switch {
		case err == nil && a.is("more"):
			continue
		case err == nil:
			return a, nil
		case tries == 1 || !lost(err) || ctx.Err() != nil:
			if err = s.explain(err); perhaps {
				err = &perhapsError{err}
			}
			return nil, err
		}
		tries++
		if c.again > 0 {
			c.args[c.again] = "1"
		}
	}
}

// perhapsError is of a call that was perhaps carried out.
type perhapsError struct{ error }

func (e *perhapsError) Unwrap() error { return e.error }

// once makes a call, by the script's hash if the server knows it.
func (s *Store) once(ctx context.Context, c call) (answer, error) {
	got, err := s.send(ctx, c, c.hash)
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		got, err = s.send(ctx, c, "")
	}
	if err != nil {
		return nil, err
	}
	a, ok := got.([]any)
	if !ok || len(a) == 0 {
		return nil, errNonsense
	}
	return a, nil
}

// errNonsense is an answer that no script of ours gives.
var errNonsense = errors.New("it answers what makes no sense; is its prefix used by something else?")

func (s *Store) send(ctx context.Context, c call, hash string) (any, error) {
	if c.confirm && s.replicas > 0 {
		return s.sendConfirmed(ctx, c, hash)
	}
	if hash == "" {
		return s.client.Eval(ctx, c.text, s.keys, c.args...).Result()
	}
	return s.client.EvalSha(ctx, hash, s.keys, c.args...).Result()
}

// sendConfirmed waits, on the same connection, until replicas have what a call changed.
func (s *Store) sendConfirmed(ctx context.Context, c call, hash string) (any, error) {
	client := s.client
	if cluster, ok := client.(*goredis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, s.keys[0])
		if err != nil {
			return nil, err
		}
		client = node
	}
	pipe := client.Pipeline()
	var done *goredis.Cmd
	if hash == "" {
		done = pipe.Eval(ctx, c.text, s.keys, c.args...)
	} else {
		done = pipe.EvalSha(ctx, hash, s.keys, c.args...)
	}
	confirmed := pipe.Do(ctx, "WAIT", s.replicas, (callTimeout / 2).Milliseconds())
	_, _ = pipe.Exec(ctx)
	if done.Err() != nil {
		return nil, done.Err()
	}
	switch n, err := confirmed.Int(); {
	case err != nil:
		return nil, err
	case n < s.replicas:
		return nil, &unconfirmedError{got: n, want: s.replicas}
	}
	return done.Val(), nil
}

// unconfirmedError is a change that would be lost with the server.
type unconfirmedError struct{ got, want int }

func (e *unconfirmedError) Error() string {
	return fmt.Sprintf("%d of the %d replicas of wait-replicas confirmed it in time", e.got, e.want)
}

// lost says whether nobody knows if a call was carried out, or is there to stay.
func lost(err error) bool {
	if _, ok := errors.AsType[goredis.Error](err); ok || errors.Is(err, goredis.ErrPoolTimeout) {
		return false
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return false
	}
	return !errors.Is(err, errNonsense)
}

// unavailable says why nobody knows what is leased, and puts the server in doubt.
func (s *Store) unavailable(err error) error {
	s.given.suspect()
	return s.explain(err)
}

// explain says why nobody knows what is leased.
func (s *Store) explain(err error) error {
	for _, r := range remedies {
		if goredis.HasErrorPrefix(err, r.prefix) {
			return fmt.Errorf("%w: %s: %w (%s)", lease.ErrUnavailable, s.where(), err, r.remedy)
		}
	}
	return fmt.Errorf("%w: %s: %w", lease.ErrUnavailable, s.where(), err)
}

// remedies are what to do about what a server says.
var remedies = []struct{ prefix, remedy string }{
	{"READONLY", "it is a replica: give the address of the master, or sentinel=NAME"},
	{"MASTERDOWN", "it is a replica without its master"},
	{"LOADING", "it starts, and reads what it kept"},
	{"OOM", "give it more maxmemory"},
	{"NOREPLICAS", "its min-replicas-to-write are not there"},
	{"BUSY", "it is in a script of somebody else's"},
	{"NOAUTH", "give user and password in the URL, or password-file"},
	{"WRONGPASS", "the password is another"},
	{"NOPERM", "its user needs the keys of the prefix, and eval, evalsha, wait and what scripts call"},
	{"MISCONF", "it cannot write to its disk"},
	{"MOVED", "it is a node of a cluster: add cluster=true"},
	{"WRONGTYPE", "something else uses the prefix"},
}

func (a answer) is(what string) bool { return len(a) > 0 && a[0] == what }

// text and number are parts of an answer, zero where they are missing or something else.
func (a answer) text(i int) (s string) {
	if i < len(a) {
		s, _ = a[i].(string)
	}
	return s
}

func (a answer) number(i int) (n int64) {
	if i < len(a) {
		n, _ = a[i].(int64)
	}
	return n
}

// unknown is an answer to a call that does not have it.
func (s *Store) unknown(a answer) error {
	if a.is("lost") {
		return s.unavailable(errors.New("the lease of an earlier try has ended"))
	}
	return s.unavailable(fmt.Errorf("%w (%q)", errNonsense, strings.ToValidUTF8(a.text(0), "?")))
}
