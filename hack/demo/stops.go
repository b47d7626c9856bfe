package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// waitState is how long a verdict may take to follow an edit.
const waitState = 5 * time.Second

func (t *tour) serves(ctx context.Context) error {
	home, err := t.get(ctx, "/")
	if err := from("storefront", home, err); err != nil {
		return err
	}
	secure, err := rig.Do(ctx, rig.Request{Port: t.ports[httpsPort], Host: host, Roots: t.roots})
	if err := from("storefront", secure, err); err != nil {
		return fmt.Errorf("HTTPS: %w", err)
	}
	shoes, err := t.get(ctx, "/catalog/shoes")
	if err := from("catalog", shoes, err); err != nil {
		return err
	}
	if shoes.Answer.Path != "/v1/shoes" || fmt.Sprint(shoes.Answer.Marks) != "[catalog]" {
		return fmt.Errorf("the catalog got path %s with marks %v, want /v1/shoes with [catalog]", shoes.Answer.Path, shoes.Answer.Marks)
	}
	return errors.Join(t.redirects(ctx), t.chooses(ctx), t.greets(ctx))
}

func (t *tour) redirects(ctx context.Context) error {
	r, err := t.get(ctx, "/account/orders")
	want := fmt.Sprintf("https://%s:%d/account/orders", host, t.ports[httpsPort])
	if err == nil && (r.Status != 301 || r.Header.Get("Location") != want) {
		err = fmt.Errorf("redirect: %d to %q, want 301 to %q", r.Status, r.Header.Get("Location"), want)
	}
	return err
}

func (t *tour) chooses(ctx context.Context) error {
	for range 20 {
		r, err := t.get(ctx, "/checkout", "X-Canary", "yes")
		if err := from("checkout-canary", r, err); err != nil {
			return err
		}
	}
	return nil
}

func (t *tour) greets(ctx context.Context) error {
	name, err := rig.Greeting(ctx, t.ports[tcpPort])
	if err == nil && name != "ledger" {
		err = fmt.Errorf("TCP: greeted by %q, want ledger", name)
	}
	return err
}

// canary counts 300 requests; 10 % ± 6 points is more than five standard deviations.
func (t *tour) canary(ctx context.Context) error {
	const requests = 300
	canary := 0
	for range requests {
		r, err := t.get(ctx, "/checkout")
		if err != nil {
			return err
		}
		switch r.Answer.Backend {
		case "checkout-canary":
			canary++
		case "checkout":
		default:
			return from("checkout", r, nil)
		}
	}
	if canary < requests*4/100 || canary > requests*16/100 {
		return fmt.Errorf("%d of %d requests reached the canary, want about 10 %%", canary, requests)
	}
	return nil
}

func (t *tour) validates(ctx context.Context) error {
	r, err := rig.Command(ctx, t.binary, "validate", "-f", t.dir)
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("exit %d:\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	return err
}

func (t *tour) edits(ctx context.Context) error {
	if err := t.change("checkout.yaml", "weight: 90", "weight: 0"); err != nil {
		return err
	}
	err := t.soon(ctx, "ten answers in a row are from the canary", func(ctx context.Context) error {
		for range 10 {
			r, err := t.get(ctx, "/checkout")
			if err := from("checkout-canary", r, err); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = t.ask(ctx, 0, "why", "httproute", "shop/checkout", "--check")
	return err
}

func (t *tour) breaks(ctx context.Context) error {
	if err := t.change("catalog.yaml", "type: PathPrefix", "type: PathPrefixx"); err != nil {
		return err
	}
	bound, cancel := context.WithTimeout(ctx, waitState)
	defer cancel()
	v, err := t.i.WaitState(bound, "httproute", "shop/catalog", verdict.Rejected)
	if err != nil {
		return err
	}
	if err := namesFieldAndRemedy(v); err != nil {
		return err
	}
	text, err := t.ask(ctx, 1, "why", "httproute", "shop/catalog", "--check")
	if err == nil && !strings.Contains(text, "catalog.yaml") {
		err = fmt.Errorf("why does not name the file:\n%s", text)
	}
	shoes, getErr := t.get(ctx, "/catalog/shoes")
	return errors.Join(err, from("catalog", shoes, getErr), t.findsBroken(ctx))
}

func namesFieldAndRemedy(v verdict.Verdict) error {
	for _, s := range v.Steps {
		if s.Outcome == verdict.WasRejected && s.Field == "spec.rules[0].matches[0].path.type" &&
			strings.Contains(s.Message, "PathPrefixx") && strings.Contains(s.Message, "RegularExpression") {
			return nil
		}
	}
	return fmt.Errorf("no step names the field, its value and what it may be:%s", rig.Steps(v))
}

// findsBroken: validate sees offline what run sees.
func (t *tour) findsBroken(ctx context.Context) error {
	r, err := rig.Command(ctx, t.binary, "validate", "-f", t.dir)
	if err == nil && (r.Exit != 1 || !strings.Contains(r.Stdout, "spec.rules[0].matches[0].path.type")) {
		err = fmt.Errorf("validate exits %d, want 1 and the field:\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	return err
}

func (t *tour) advances(ctx context.Context) error {
	if err := t.change("storefront.yaml", "statusCode: 301", "statusCode: 302"); err != nil {
		return err
	}
	return t.soon(ctx, "the redirect has its new status", func(ctx context.Context) error {
		r, err := t.get(ctx, "/account")
		if err == nil && r.Status != 302 {
			err = fmt.Errorf("status %d", r.Status)
		}
		return err
	})
}

func (t *tour) repairs(ctx context.Context) error {
	if err := errors.Join(
		t.change("catalog.yaml", "type: PathPrefixx", "type: PathPrefix"),
		t.change("catalog.yaml", "replacePrefixMatch: /v1", "replacePrefixMatch: /v2"),
	); err != nil {
		return err
	}
	err := t.soon(ctx, "the catalog gets the new path", func(ctx context.Context) error {
		r, err := t.get(ctx, "/catalog/shoes")
		if err == nil && r.Answer.Path != "/v2/shoes" {
			err = fmt.Errorf("the catalog got path %q", r.Answer.Path)
		}
		return err
	})
	if err != nil {
		return err
	}
	bound, cancel := context.WithTimeout(ctx, waitState)
	defer cancel()
	_, err = t.i.WaitState(bound, "httproute", "shop/catalog", verdict.Serving)
	return err
}

func (t *tour) deletes(ctx context.Context) error {
	if err := os.Remove(filepath.Join(t.dir, "ledger.yaml")); err != nil {
		return err
	}
	err := t.soon(ctx, "the TCP port has no backend", func(ctx context.Context) error {
		if name, err := rig.Greeting(ctx, t.ports[tcpPort]); err == nil {
			return fmt.Errorf("still greeted by %q", name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.soon(ctx, "why does not know the route", func(ctx context.Context) error {
		text, err := t.ask(ctx, 1, "why", "tcproute", "shop/ledger")
		if err == nil && !strings.Contains(text, "TCPRoute") {
			err = fmt.Errorf("why does not say what would have to be true:\n%s", text)
		}
		return err
	})
}

func (t *tour) statuses(ctx context.Context) error {
	text, err := t.ask(ctx, 0, "status", "httproute", "shop/checkout", "-o", "json")
	if err != nil {
		return err
	}
	if !json.Valid([]byte(text)) || !strings.Contains(text, `"Accepted"`) || !strings.Contains(text, `"observedGeneration"`) {
		return fmt.Errorf("status is not an object with conditions:\n%s", text)
	}
	_, err = t.ask(ctx, 0, "status")
	return err
}

func (t *tour) misuses(ctx context.Context) error {
	r, err := rig.Command(ctx, t.binary, "why", "--no-such-flag")
	if err == nil && r.Exit != 2 {
		err = fmt.Errorf("exit %d:\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	return err
}
