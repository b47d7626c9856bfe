package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
)

// play tells the story, and asserts it or waits for a person.
func (s *stage) play(ctx context.Context, check bool) error {
	ready, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	var err error
	if s.proxies, err = s.fleet.Ready(ready); err != nil {
		return fmt.Errorf("%w\n%s", err, s.fleet.Log)
	}
	for _, p := range s.proxies {
		fmt.Printf("proxy     %-12s %s\n", p.ID(), p.Host)
	}
	fmt.Printf("target    %s gives %d pages to an address, and bans it then\n", s.target.URL, s.target.Limit)
	for _, scene := range []func(context.Context) error{s.crawls, s.rests, s.oneURL} {
		if err := scene(ctx); err != nil {
			return fmt.Errorf("%w\nThe fleet said:\n%s", err, s.fleet.Log)
		}
	}
	if check {
		fmt.Println("\nThe story is true.")
		return nil
	}
	s.explain()
	select {
	case <-ctx.Done():
		fmt.Println("\nending")
	case <-s.fleet.Ended():
	}
	return nil
}

// crawls: the crawler gets all pages, from one address after another.
func (s *stage) crawls(ctx context.Context) error {
	python := cmp.Or(os.Getenv("PYTHON"), "python3")
	pattern := s.target.URL + "/page/{}"
	said, err := s.tell(ctx, command{
		name:      python,
		shown:     fmt.Sprintf("python3 %s --api http://%s --pages %d %s", crawler, s.fleet.Lease, pages, pattern),
		arguments: []string{"-u", crawler, "--api", "http://" + s.fleet.Lease, "--pages", fmt.Sprint(pages), pattern},
	})
	if err != nil {
		return err
	}
	return s.crawled(said)
}

// rests: why says of a proxy that was banned that it rests, and for what.
func (s *stage) rests(ctx context.Context) error {
	first := s.name(s.target.Visits()[0].Source)
	said, err := s.tell(ctx, command{
		name: s.binary, shown: "bin/gatehouse why proxy " + first + s.admin(),
		arguments: []string{"why", "proxy", first, "--admin-address", s.fleet.Admin},
	})
	if err != nil {
		return err
	}
	if !strings.Contains(said, s.target.Host()) {
		return fmt.Errorf("why does not say that %s rests for %s", first, s.target.Host())
	}
	return s.onlyOneIsLeft(ctx)
}

// oneURL: the super-proxy leases for whoever cannot ask, by HTTP, through a tunnel, and by
// SOCKS5.
func (s *stage) oneURL(ctx context.Context) error {
	left := s.target.Visits()[len(s.target.Visits())-1].Source
	page := pages
	for _, way := range []struct{ scheme, flag string }{{"http", ""}, {"http", "-p "}, {"socks5h", ""}} {
		page++
		url := fmt.Sprintf("%s/page/%d", s.target.URL, page)
		arguments := append(strings.Fields("-sS --noproxy nobody "+way.flag), "-x", s.through(way.scheme, s.fleet.EgressToken), url)
		said, err := s.tell(ctx, command{
			name: "curl", arguments: arguments,
			shown: fmt.Sprintf("curl -sS %s-x %s %s", way.flag, s.through(way.scheme, "TOKEN"), url),
		})
		if want := fmt.Sprintf("page %d for %s\n", page, left); err == nil && said != want {
			err = fmt.Errorf("curl gets %q through the super-proxy, want %q", said, want)
		}
		if err != nil {
			return err
		}
	}
	return s.strangersAreRefused(ctx)
}

// through is the URL of the super-proxy; what is to be leased is in the user name.
func (s *stage) through(scheme, token string) string {
	return fmt.Sprintf("%s://target=%s:%s@%s", scheme, s.target.Host(), token, s.fleet.Egress)
}

// admin is the flag that a command needs that asks this fleet.
func (s *stage) admin() string {
	if s.fleet.Admin == "127.0.0.1:19030" {
		return ""
	}
	return " --admin-address " + s.fleet.Admin
}

func (s *stage) explain() {
	fmt.Printf(`
The fleet goes on until Ctrl-C.

  lease   export DISCOVERY_TOKEN=%[1]s
          curl -H "Authorization: Bearer $DISCOVERY_TOKEN" -d '{"target":"other.example"}' \
            http://%[2]s/v1/leases
  browse  curl -x %[3]s %[4]s/page/1
          # the last address has had its pages too: the target refuses, and nobody
          # tells the fleet, since only a crawler knows what a refusal looks like
  ask     bin/gatehouse fleet list%[5]s
          bin/gatehouse fleet top%[5]s
          bin/gatehouse why proxy %[6]s%[5]s
  read    docs/leases.md, %[7]s, clients/python/README.md

Ctrl-C ends everything.

`, s.fleet.Token, s.fleet.Lease, s.through("http", s.fleet.EgressToken), s.target.URL, s.admin(), s.proxies[0].ID(), crawler)
}
