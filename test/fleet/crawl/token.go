package crawl

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
)

var tokenItself = regexp.MustCompile(`ghe_[A-Za-z0-9_-]{20,}`)

// makeToken lets "gatehouse egress token" make one, and the file of those who have one.
func (f *Fleet) makeToken(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, f.o.Binary, "egress", "token", "crawler")
	var told bytes.Buffer
	cmd.Stderr = &told
	line, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("gatehouse egress token: %w: %s", err, &told)
	}
	if f.EgressToken = tokenItself.FindString(told.String()); f.EgressToken == "" {
		return fmt.Errorf("gatehouse egress token tells no token, but %q", told.String())
	}
	return os.WriteFile(f.tokens(), line, 0o600)
}
