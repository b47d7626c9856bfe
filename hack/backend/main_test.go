package main

import (
	"strings"
	"testing"
)

func TestStart(t *testing.T) {
	for spec, want := range map[string]string{"http:a=127.0.0.1:0": "a: http://127.0.0.1:", "tcp:b=127.0.0.1:0": "b: tcp 127.0.0.1:", "udp:c=127.0.0.1:0": "c: udp 127.0.0.1:"} {
		server, line, err := start(t.Context(), spec)
		if err != nil || !strings.HasPrefix(line, want) {
			t.Fatalf("%s: %q, %v, want %q…", spec, line, err, want)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, spec := range []string{"", "http", "http:=x", "sctp:a=127.0.0.1:0", "http:a=127.0.0.1:99999"} {
		if _, line, err := start(t.Context(), spec); err == nil {
			t.Errorf("%q started %s", spec, line)
		}
	}
}
