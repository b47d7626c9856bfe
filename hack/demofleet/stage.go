package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/crawl"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// crawler and its library, from the repository's root.
const crawler, library = "examples/crawler/crawler.py", "clients/python"

// pages are crawled, of which the target gives limit to each address: two addresses are
// banned on the way.
const pages, limit = 12, 5

// readyTime bounds the start, storyTime each command of the story.
const readyTime, storyTime = 40 * time.Second, time.Minute

// stage is what the story plays on.
type stage struct {
	binary  string
	fleet   *crawl.Fleet
	target  *crawl.Target
	proxies []egress.Proxy
	root    string
}

func demonstrate(ctx context.Context, binary string, check bool) (err error) {
	dir, err := os.MkdirTemp("", "gatehouse-demofleet-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &stage{binary: binary}
	if s.root, err = root(); err != nil {
		return err
	}
	fmt.Println("Starting gatehouse fleet with three proxies, and a target that bans addresses. Ctrl-C ends everything.")
	if s.target, err = crawl.OpenTarget(ctx, cmp.Or(s.address(ctx, 8200, check), "127.0.0.1:0"), limit, 403, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.target.Close()) }()
	s.fleet, err = crawl.Open(ctx, crawl.Options{
		Binary: binary, Dir: dir, Names: []string{"one", "two", "three"}, Destinations: "127.0.0.1", SuperProxy: true,
		Health: s.target.URL + "/health",
		Lease:  s.address(ctx, 8090, check), Egress: s.address(ctx, 3128, check), Admin: s.address(ctx, 19030, check),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.fleet.Close(ctx)) }()
	return s.play(ctx, check)
}

// root is the directory of the repository.
func root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(wd, crawler)); err != nil {
		return "", fmt.Errorf("%w: run from the repository's root", err)
	}
	return wd, nil
}

// address is the one that the manual has, or one with another port if that is in use, or
// if all must be free ones.
func (s *stage) address(ctx context.Context, port uint16, free bool) string {
	if free || rig.Busy(ctx, port) {
		return ""
	}
	return fmt.Sprintf("%s:%d", rig.Loopback, port)
}

// command is one that a person could type; what it says is shown and kept.
type command struct {
	name string
	// shown is how it is shown, when that is not its arguments.
	shown     string
	arguments []string
}

func (s *stage) tell(ctx context.Context, c command) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, storyTime)
	defer cancel()
	shown := c.shown
	if shown == "" {
		shown = c.name + " " + strings.Join(c.arguments, " ")
	}
	fmt.Println("\n$", shown)
	cmd := exec.CommandContext(ctx, c.name, c.arguments...)
	cmd.Dir, cmd.WaitDelay = s.root, 5*time.Second
	cmd.Env = append(os.Environ(), "DISCOVERY_TOKEN="+s.fleet.Token, "PYTHONPATH="+filepath.Join(s.root, library), "PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1")
	var said bytes.Buffer
	cmd.Stdout = io.MultiWriter(os.Stdout, &said)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w", shown, err)
	}
	return said.String(), err
}
