package postgres_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"
)

// copierRole is the first argument of a child that copies.
const copierRole = "copy"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == copierRole {
		fmt.Fprintln(os.Stderr, copyAll(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// copyAll relays with io.Copy alone, until its parent ends it.
func copyAll(address, server string) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		client, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer client.Close()
			to, err := net.Dial("tcp", server)
			if err != nil {
				return
			}
			defer to.Close()
			go func() {
				_, _ = io.Copy(to, client)
				_ = to.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(client, to)
		}()
	}
}

// rounds are how often the ways take turns; $BENCH_ROUNDS.
func rounds() int { return setting("BENCH_ROUNDS", 5) }

// seconds is how long one turn is; $BENCH_SECONDS.
func seconds() int { return setting("BENCH_SECONDS", 10) }

func setting(name string, or int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return or
}

// since is in seconds.
func since(begin time.Time) float64 { return time.Since(begin).Seconds() }
