package peer

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// Bounds of asking. What is beyond them is not asked.
const (
	// AskTimeout bounds a question, until the last peer has answered.
	AskTimeout = 5 * time.Second
	// dialTimeout leaves one lost packet time to be sent again.
	dialTimeout = 2 * time.Second
	// restTime is what the others have to answer once one has delivered the cancel: those
	// that live say by then that it is not theirs.
	restTime = 250 * time.Millisecond

	asksPerSecond = 100
	asksAtOnce    = 400
	asksUnderWay  = 64
	socketsOpen   = 512
)

// logInterval is how often one kind of trouble is logged at most.
const logInterval = 10 * time.Second

// ClientOptions say whom a Client asks.
type ClientOptions struct {
	// Peers are HOST:PORT. A name has the addresses that DNS gives it then, such as that
	// of a headless Service. They may include this replica.
	Peers []string
	// Self is where this replica listens for questions.
	Self netip.AddrPort
	Keys *Keyring
	// Timeout bounds a question; default AskTimeout.
	Timeout time.Duration
	// Count is told the outcome of each question.
	Count func(Outcome)
	Log   *slog.Logger
}

// Client asks the other replicas. Make it with NewClient. Its methods may be called from
// several goroutines.
type Client struct {
	options  ClientOptions
	finder   *finder
	rate     *rate.Limiter
	underWay chan struct{}
	sockets  chan struct{}
	quiet    rate.Sometimes
}

// NewClient returns a Client. It connects to nobody yet.
func NewClient(o ClientOptions) *Client {
	o.Timeout = cmp.Or(o.Timeout, AskTimeout)
	return &Client{
		options: o,
		finder: &finder{
			peers: o.Peers, self: o.Self, log: o.Log,
			last: map[string][]netip.Addr{}, wrong: map[string]string{}, down: map[netip.AddrPort]time.Time{},
			lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
				return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			},
		},
		rate:     rate.NewLimiter(asksPerSecond, asksAtOnce),
		underWay: make(chan struct{}, asksUnderWay),
		sockets:  make(chan struct{}, socketsOpen),
		quiet:    rate.Sometimes{Interval: logInterval},
	}
}

// Ask asks all other replicas for the cancel of the session with a key, and returns once
// all have answered, one has delivered it and restTime is over, or the Timeout is. The outcome is cancel.Peer, cancel.Failed,
// cancel.Unknown, or cancel.Limited: then nobody was asked.
func (c *Client) Ask(ctx context.Context, key pgwire.Key) cancel.Outcome {
	select {
	case c.underWay <- struct{}{}:
		defer func() { <-c.underWay }()
	default:
		return cancel.Limited
	}
	if !c.rate.Allow() {
		return cancel.Limited
	}
	ctx, done := context.WithTimeout(ctx, c.options.Timeout)
	defer done()
	secret := c.options.Keys.Secrets()[0]
	q := Question{Time: time.Now(), Key: key}
	_, _ = rand.Read(q.Nonce[:]) // it never fails
	packet, err := secret.seal(q)
	if err != nil {
		return cancel.Unknown
	}
	return c.askAll(ctx, func(ctx context.Context, peer netip.AddrPort) (Verdict, error) {
		raw, err := c.exchange(ctx, peer, packet)
		if err != nil {
			return 0, err
		}
		return secret.verdict(q.Nonce, raw)
	})
}

// errDelivered ends a question that another peer has answered.
var errDelivered = errors.New("it had not answered when another one had long delivered the cancel")

// askAll asks every peer at once and joins their answers. It returns once all have
// answered, or restTime after one has delivered the cancel, and leaves nothing behind.
func (c *Client) askAll(ctx context.Context, ask func(context.Context, netip.AddrPort) (Verdict, error)) cancel.Outcome {
	peers := c.finder.others(ctx)
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	answers := make(chan Verdict, len(peers))
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, peer := range peers {
		wg.Go(func() {
			verdict, err := ask(ctx, peer)
			if err != nil {
				c.silent(ctx, peer, err)
				verdict = 0
			} else {
				c.options.Count(asked[verdict])
			}
			answers <- verdict
		})
	}
	return join(answers, len(peers), func() { cut(errDelivered) })
}

// join returns what n answers say together, where 0 is none. It calls cut if some are
// not there restTime after one has delivered the cancel; they must come then.
func join(answers <-chan Verdict, n int, cut func()) cancel.Outcome {
	outcome := cancel.Unknown
	var rest <-chan time.Time
	for n > 0 {
		select {
		case v := <-answers:
			n--
			switch {
			case v == Delivered && rest == nil:
				outcome, rest = cancel.Peer, time.After(restTime)
			case v == Failed && outcome == cancel.Unknown:
				outcome = cancel.Failed
			}
		case <-rest:
			cut()
		}
	}
	return outcome
}

// exchange sends a packet to a peer and returns its answer.
func (c *Client) exchange(ctx context.Context, peer netip.AddrPort, packet []byte) (answer [answerSize]byte, err error) {
	select {
	case c.sockets <- struct{}{}:
		defer func() { <-c.sockets }()
	case <-ctx.Done():
		return answer, ctx.Err()
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", peer.String())
	if err != nil {
		return answer, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	if _, err := conn.Write(packet); err != nil {
		return answer, err
	}
	_, err = io.ReadFull(conn, answer[:])
	return answer, err
}

// silent notes a peer that did not answer. One that had all its time and took it is left
// alone for a while.
func (c *Client) silent(ctx context.Context, peer netip.AddrPort, err error) {
	c.options.Count(AskedSilent)
	switch {
	case errors.Is(context.Cause(ctx), errDelivered):
		err = errDelivered
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		c.finder.leave(peer)
	}
	c.quiet.Do(func() {
		c.options.Log.Warn("a cancel peer does not answer", observe.KeyAddress, peer.String(), observe.KeyError, explain(err))
	})
}

// explain says what a peer means that closes without an answer.
func explain(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it closed the connection: its key or its clock differs, or it has too many questions")
	}
	return err
}
