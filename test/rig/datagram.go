package rig

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// datagramTimeout is how long an answer may take: what is dropped is never answered.
const datagramTimeout = 2 * time.Second

// Datagram sends a text to a UDP port, from a port of its own, and returns the name of
// the backend that sends it back.
func Datagram(ctx context.Context, port uint16, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, datagramTimeout)
	defer cancel()
	conn, err := dial(ctx, "udp", port)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(text)); err != nil {
		return "", err
	}
	answer := make([]byte, 1<<16)
	n, err := conn.Read(answer)
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	name, echo, _ := strings.Cut(string(answer[:n]), "\n")
	if echo != text {
		return "", fmt.Errorf("the backend sent %q back, want %q", echo, text)
	}
	return name, nil
}
