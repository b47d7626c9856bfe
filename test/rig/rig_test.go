package rig

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/backend"
)

// script is a program that stands in for gatehouse where only its end matters.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gatehouse")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWaitReadySaysWhyItEnded(t *testing.T) {
	i, err := Start(t.Context(), Options{Binary: script(t, "echo envoy not found >&2; exit 3"), StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = i.WaitReady(ctx)
	ended, ok := errors.AsType[*EndedError](err)
	if !ok || !strings.Contains(ended.Output, "envoy not found") {
		t.Errorf("got %v, want an EndedError with what the process said", err)
	}
}

func TestStopReturnsExitStatus(t *testing.T) {
	for text, want := range map[string]bool{"exit 0": true, "exit 4": false} {
		i, err := Start(t.Context(), Options{Binary: script(t, "trap '"+text+"' TERM; echo up; while :; do sleep 0.05; done"), StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err = i.Until(ctx, "up", func(context.Context) error {
			if !strings.Contains(i.Output(), "up") {
				return errors.New("silent")
			}
			return nil
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Stop(); (err == nil) != want {
			t.Errorf("%s: Stop returns %v", text, err)
		}
	}
}

func TestBusy(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).AddrPort().Port()
	if !Busy(t.Context(), port) {
		t.Error("a port that is listened on is busy")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if Busy(t.Context(), port) {
		t.Error("a port that is not listened on is free")
	}
}

func TestDoNamesHostAndReadsAnswer(t *testing.T) {
	b, err := backend.StartHTTP(t.Context(), "red", netip.AddrPortFrom(Loopback, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	got, err := Do(t.Context(), Request{Port: b.Addr.Port(), Host: "a.example", Path: "/x", Header: http.Header{"x-mark": {"m"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Answer.Backend != "red" || got.Answer.Host != "a.example" || strings.Join(got.Answer.Marks, ",") != "m" {
		t.Errorf("got %+v", got.Answer)
	}
}
