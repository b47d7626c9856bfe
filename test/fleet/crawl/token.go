package crawl

import (
	"fmt"
	"os"
	"regexp"
)

// tokenLine is a line of the file of tokens: name, hash, selector.
var tokenLine = regexp.MustCompile(`(?m)^\s*(crawler [0-9a-f]{64}( \S+)?)\s*$`)

// keepToken takes from what "gatehouse egress token" says the token and the line for the
// file.
func (f *Fleet) keepToken(said string) error {
	line := tokenLine.FindStringSubmatch(said)
	token := tokenItself.FindString(said)
	if line == nil || token == "" {
		return fmt.Errorf("gatehouse egress token says %q, without a token and a line for the file", said)
	}
	f.EgressToken = token
	return os.WriteFile(f.tokens(), []byte(line[1]+"\n"), 0o600)
}

// tokenItself is a word that could be a token.
var tokenItself = regexp.MustCompile(`\b[A-Za-z0-9_-]{20,60}\b`)
