package token

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/username"
)

func TestANewTokenIsFound(t *testing.T) {
	token, line, err := New("crawler", "country=de,ns=crawl")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(line, token) || len(token) < 43 {
		t.Errorf("token %q, line %q", token, line)
	}
	set, err := Parse("# who may use it\n\n" + line + "\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if h, ok := set.Find(token); !ok || h.Name != "crawler" || h.Limit.String() != "country=de,ns=crawl" {
		t.Errorf("found %+v, %t", h, ok)
	}
	if _, ok := set.Find(token + "x"); ok {
		t.Error("another token was found")
	}
	if again, _, _ := New("crawler", ""); again == token {
		t.Error("the same token twice")
	}
}

func TestATokenLimitsItsRequests(t *testing.T) {
	h := Holder{Name: "crawler", Limit: username.Wish{Namespace: "crawl", Selector: map[string]string{"country": "de"}}}
	for text, want := range map[string]string{
		"-": "country=de,ns=crawl", "country=de,session=a": "country=de,ns=crawl,session=a", "kind=x,ns=crawl": "country=de,kind=x,ns=crawl",
	} {
		w, _ := username.Parse(text)
		if got, err := h.Limited(w); err != nil || got.String() != want {
			t.Errorf("%s becomes %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"country=fr": "user name: the token of crawler is limited to country=de: leave country=fr out",
		"ns=other":   "user name: the token of crawler is limited to ns=crawl: leave ns=other out",
	} {
		w, _ := username.Parse(text)
		if _, err := h.Limited(w); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if h.Limit.String() != "country=de,ns=crawl" {
		t.Errorf("the limit has become %s", h.Limit)
	}
}

// Every bad line is told at once, with its number, and no sum is repeated.
func TestBadLines(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	_, err := Parse("a " + sum + "\nb\nc secret-token\n-d " + sum + "\ne " + sum + "\na " + strings.Repeat("cd", 32) +
		"\nf " + strings.Repeat("ef", 32) + " country\ng " + strings.Repeat("0f", 32) + " session=a\nh " + sum + " a=b c")
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		"line 2: it is not NAME SHA256 [key=value,...]: 'gatehouse egress token NAME' prints a line",
		"line 3: the second word of c is not a SHA-256 in 64 hexadecimal digits",
		`line 4: "-d" is no name of a token`, "line 5: e has the token of a", "line 6: a is in line 1 already",
		`line 7: selector: "country" is no key=value pair`, `line 8: selector "session=a": a token is limited to attributes and ns`, "line 9: it is not NAME",
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) || strings.Contains(line, "secret") {
			t.Errorf("it says %q", line)
		}
	}
	if _, _, err := New("a b", ""); err == nil {
		t.Error("a name with a blank")
	}
}

// output is what was logged.
type output struct {
	sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.Lock()
	defer o.Unlock()
	return o.Buffer.Write(p)
}

func (o *output) has(text string) bool {
	o.Lock()
	defer o.Unlock()
	return strings.Contains(o.String(), text)
}

func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-late:
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

// A changed file counts at once; a bad one is told with the line, and what was there
// before goes on, as it does when the file is gone.
func TestAFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, one, _ := New("one", "")
	second, two, _ := New("two", "")
	write(one)
	var log output
	f, err := Open(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { _ = f.Watch(ctx) })
	defer watch.Wait()
	defer cancel()
	knows := func(token string) bool { _, ok := f.Set().Find(token); return ok }
	write(one + "\n" + two + "\n")
	eventually(t, "the second token counts", func() bool { return knows(second) })
	write(two + "\nthree\n")
	eventually(t, "the bad line is told", func() bool { return log.has("line 2: it is not NAME") })
	if !knows(first) {
		t.Error("a bad file counts")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the missing file is told", func() bool { return log.has("no such file") })
	if !knows(first) {
		t.Error("a missing file counts")
	}
	write(two)
	eventually(t, "the first token is gone", func() bool { return !knows(first) && knows(second) })
}

func TestAFileThatCannotBeOpened(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("opened")
	}
	path := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
		t.Error(err)
	}
}
