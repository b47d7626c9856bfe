package postgres_test

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// idleSessions are as many as memory is measured with.
const idleSessions = 5000

// BenchmarkIdle opens sessions to a server that is none: it greets and is silent.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		t := table{title: fmt.Sprintf("%d idle sessions", idleSessions)}
		t.row("way", "KiB/session", "descriptors/session")
		dummy := greeter(b)
		ways := []way{pgbouncer(b, "", dummy), gatehouse(b, "", dummy), gatehouse(b, "", dummy).overTLS()}
		for _, w := range ways {
			held := hold(b, w, 50) // what a process needs before there are sessions
			memory, files := w.process.resident(b), w.process.descriptors(b)
			more := hold(b, w, idleSessions)
			memory, files = w.process.resident(b)-memory, w.process.descriptors(b)-files
			t.row(w.name, memory/idleSessions/1024, files/idleSessions)
			for _, c := range append(held, more...) {
				_ = c.Close()
			}
		}
		t.print(b)
	}
}

// greeter accepts sessions, says that they are ready, and waits for their ends.
func greeter(b *testing.B) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				greet(c)
			})
		}
	})
	b.Cleanup(func() {
		_ = ln.Close()
	})
	return ln.Addr().String()
}

func greet(c net.Conn) {
	if _, err := pgwire.Read(c); err != nil {
		return
	}
	var greeting []byte
	said := func(kind byte, payload string) {
		greeting = append(binary.BigEndian.AppendUint32(append(greeting, kind), uint32(len(payload)+4)), payload...)
	}
	said('R', "\x00\x00\x00\x00")
	for _, parameter := range []string{"server_version\x0015.0\x00", "client_encoding\x00UTF8\x00", "DateStyle\x00ISO\x00", "TimeZone\x00UTC\x00", "standard_conforming_strings\x00on\x00"} {
		said('S', parameter)
	}
	said('K', string(binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))))
	said('Z', "I")
	if _, err := c.Write(greeting); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, c)
}

// hold opens sessions that stay.
func hold(b *testing.B, w way, n int) []net.Conn {
	b.Helper()
	all := make([]net.Conn, n)
	for i := range all {
		c, err := open(w)
		if err != nil {
			b.Fatalf("session %d through %s: %v\n%s", i, w.name, err, w.process.log)
		}
		b.Cleanup(func() { _ = c.Close() })
		all[i] = c
	}
	return all
}

// open logs in and waits for ReadyForQuery.
func open(w way) (net.Conn, error) {
	c, err := net.Dial("tcp", w.address)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if w.sslmode == "require" {
		if c, err = secure(c); err != nil {
			return nil, err
		}
	}
	text := "\x00\x03\x00\x00user\x00" + w.login + "\x00database\x00postgres\x00\x00"
	packet := append(binary.BigEndian.AppendUint32(nil, uint32(len(text)+4)), text...)
	if _, err := c.Write(packet); err != nil {
		return nil, err
	}
	var header [5]byte
	for header[0] != 'Z' {
		if _, err := io.ReadFull(c, header[:]); err != nil {
			return nil, err
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(header[1:])-4)); err != nil {
			return nil, err
		}
	}
	return c, c.SetDeadline(time.Time{})
}

func secure(c net.Conn) (net.Conn, error) {
	if _, err := c.Write([]byte("\x00\x00\x00\x08\x04\xd2\x16\x2f")); err != nil {
		return nil, err
	}
	var answer [1]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil || answer[0] != 'S' {
		return nil, fmt.Errorf("TLS is answered %q, %w", answer, err)
	}
	s := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the router's certificate is its own
	return s, s.Handshake()
}
