package kube

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"

	api_errors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// feedState is what is known of one feed.
type feedState struct {
	of              *state
	what            string // for example "Services in namespace shop"
	listing, listed bool   // a complete list is or was taken
	err             error  // of the last request; nil if it was answered
}

// state is what is known of all feeds. It logs when the API goes away and is back.
type state struct {
	log *slog.Logger

	mu    sync.Mutex
	feeds []*feedState
	away  time.Time // since when; zero while all feeds are answered
}

func (s *state) feed(what string) *feedState {
	f := &feedState{of: s, what: what}
	s.feeds = append(s.feeds, f)
	return f
}

// answered takes how a request ended. That a watch is too old to go on is no failure.
func (f *feedState) answered(ctx context.Context, err error) {
	if ctx.Err() != nil || err != nil && (api_errors.IsResourceExpired(err) || api_errors.IsGone(err)) {
		return
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.err = err
	f.of.transition(f)
}

// transition logs the first failure, and that it is over.
func (s *state) transition(f *feedState) {
	failing := slices.ContainsFunc(s.feeds, func(f *feedState) bool { return f.err != nil })
	switch {
	case failing && s.away.IsZero():
		s.away = time.Now()
		s.log.Warn("the Kubernetes API does not answer; what was found before stays in use", observe.KeyWhat, f.what, observe.KeyError, cause(f.err))
	case !failing && !s.away.IsZero():
		s.log.Info("the Kubernetes API answers again", observe.KeyTook, time.Since(s.away).Round(time.Millisecond))
		s.away = time.Time{}
	}
}

// begins says that a complete list is taken now; begun tells whether one is or was.
func (f *feedState) begins() {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.listing = true
}

func (f *feedState) begun() bool {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	return f.listing
}

// done says that a complete list was taken, and tells whether that was the last of the
// first ones.
func (f *feedState) done() (all bool) {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.listed {
		return false
	}
	f.listed = true
	return !slices.ContainsFunc(f.of.feeds, func(f *feedState) bool { return !f.listed })
}

func (s *state) isAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.away.IsZero()
}

// waiting says what is waited for, and why; "" for nothing.
func (s *state) waiting() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.feeds {
		if f.listed {
			continue
		}
		text := "the first list of " + f.what
		if f.err != nil {
			text += ": " + cause(f.err).Error()
		}
		return text
	}
	return ""
}

// cause is an error without the request's query, which says nothing to people.
func cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if u, parseErr := url.Parse(e.URL); parseErr == nil {
			u.RawQuery = ""
			return &url.Error{Op: e.Op, URL: u.String(), Err: e.Err}
		}
	}
	return err
}
