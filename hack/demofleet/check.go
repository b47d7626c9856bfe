package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/crawl"
)

// name is the ID of the proxy at an address.
func (s *stage) name(address string) string {
	for _, p := range s.proxies {
		if p.Host == address {
			return p.ID()
		}
	}
	return ""
}

// crawled asserts what the target has seen, and that the crawler said so: each page once,
// from one address until that was banned, and then from the next.
func (s *stage) crawled(said string) error {
	var want []crawl.Visit
	var sources []string
	got := s.target.Visits()
	for _, v := range got {
		if !slices.Contains(sources, v.Source) {
			sources = append(sources, v.Source)
		}
	}
	page := 1
	for _, source := range sources {
		for range limit {
			if page <= pages {
				want = append(want, crawl.Visit{Source: source, Path: fmt.Sprintf("/page/%d", page), Status: 200})
			}
			page++
		}
		if page <= pages {
			want = append(want, crawl.Visit{Source: source, Path: fmt.Sprintf("/page/%d", page), Status: 403})
		}
	}
	if len(sources) != 3 || !slices.Equal(got, want) {
		return fmt.Errorf("the target has seen %v, want %v, from three addresses", got, want)
	}
	for _, source := range sources {
		if s.name(source) == "" || !strings.Contains(said, "leased    "+s.name(source)) {
			return fmt.Errorf("%s is no address of a proxy that the crawler has leased", source)
		}
	}
	return nil
}

// onlyOneIsLeft asserts that the two that were banned rest for the target, and for nothing
// else.
func (s *stage) onlyOneIsLeft(ctx context.Context) error {
	visits := s.target.Visits()
	left := s.name(visits[len(visits)-1].Source)
	_, err := s.fleet.Client().Acquire(ctx, egress.Request{Target: s.target.Host(), Exclude: []string{left}})
	if e, ok := errors.AsType[*egress.Error](err); !ok || e.Code != egress.ErrNoMatch.Code || e.InCooldown != 2 {
		return fmt.Errorf("without %s the lease API says %w, want that two rest", left, err)
	}
	other, err := s.fleet.Client().Acquire(ctx, egress.Request{Target: "other.example", Exclude: []string{left}})
	if err != nil {
		return fmt.Errorf("for another target: %w", err)
	}
	return other.Release(ctx)
}

// strangersAreRefused asserts that the super-proxy lets nobody through without a token.
func (s *stage) strangersAreRefused(ctx context.Context) error {
	before := len(s.target.Visits())
	cmd := exec.CommandContext(ctx, "curl", "-s", "--noproxy", "nobody", "-o", "/dev/null", "-w", "%{http_code}", "-x", s.through("http", "wrong"), s.target.URL+"/page/1")
	out, err := cmd.Output()
	if err != nil || string(out) != "407" {
		return fmt.Errorf("a wrong token is answered with %s, %w, want 407", out, err)
	}
	if len(s.target.Visits()) != before {
		return errors.New("a wrong token came through to the target")
	}
	return nil
}
