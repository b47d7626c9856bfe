package tlsstore

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) with(word string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return found
}

func (l *lines) options() Options { return Options{Log: slog.New(slog.NewTextHandler(l, nil))} }

func newPair(t *testing.T, valid time.Duration) tlsutil.Pair {
	t.Helper()
	pair, err := tlsutil.SelfSigned(tlsutil.From(time.Now().Add(-time.Hour), valid+time.Hour), "localhost", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func fingerprint(t *testing.T, pair tlsutil.Pair) string {
	t.Helper()
	facts, err := tlsutil.Inspect(pair.Cert)
	if err != nil {
		t.Fatal(err)
	}
	return facts.Fingerprint
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain until %s", what)
		case <-poll.C:
		}
	}
}

// layout is a way to keep a pair in files and to replace it.
type layout struct {
	name      string
	cert, key string
	put       func(t *testing.T, dir string, pair tlsutil.Pair)
}

var layouts = []layout{
	{name: "written in place", cert: "tls.crt", key: "tls.key", put: func(t *testing.T, dir string, pair tlsutil.Pair) {
		write(t, filepath.Join(dir, "tls.crt"), pair.Cert)
		write(t, filepath.Join(dir, "tls.key"), pair.Key)
	}},
	{name: "renamed into two directories", cert: "a/tls.crt", key: "b/tls.key", put: func(t *testing.T, dir string, pair tlsutil.Pair) {
		for name, data := range map[string][]byte{"a/tls.crt": pair.Cert, "b/tls.key": pair.Key} {
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, name+".new", data)
			rename(t, name+".new", name)
		}
	}},
	{name: "one file", cert: "all.pem", key: "all.pem", put: func(t *testing.T, dir string, pair tlsutil.Pair) {
		write(t, filepath.Join(dir, "all.pem"), append(bytes.Clone(pair.Key), pair.Cert...))
	}},
	{name: "swapped by Kubernetes", cert: "tls.crt", key: "tls.key", put: putLikeKubernetes},
}

// putLikeKubernetes does what a kubelet does with a volume of a Secret: files are links
// through ..data, which is replaced by a rename, and then the old directory goes.
func putLikeKubernetes(t *testing.T, dir string, pair tlsutil.Pair) {
	t.Helper()
	fresh, err := os.MkdirTemp(dir, "..20")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(fresh, "tls.crt"), pair.Cert)
	write(t, filepath.Join(fresh, "tls.key"), pair.Key)
	data := filepath.Join(dir, "..data")
	old, _ := os.Readlink(data) // none at first
	link(t, filepath.Base(fresh), data+"_tmp")
	rename(t, data+"_tmp", data)
	if old != "" {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			t.Fatal(err)
		}
		return
	}
	link(t, "..data/tls.crt", filepath.Join(dir, "tls.crt"))
	link(t, "..data/tls.key", filepath.Join(dir, "tls.key"))
}

var kubernetes = layouts[len(layouts)-1]

// open puts a pair into a new directory and returns a Store that runs.
func (l layout) open(t *testing.T, o Options) (s *Store, dir string) {
	t.Helper()
	dir = t.TempDir()
	l.put(t, dir, newPair(t, lifetime))
	s, err := Files(filepath.Join(dir, l.cert), filepath.Join(dir, l.key), o)
	if err != nil {
		t.Fatal(err)
	}
	running(t, s)
	return s, dir
}

func serves(s *Store, want string) func() bool {
	return func() bool { return s.Status().Facts.Fingerprint == want }
}

func TestFilesAreReloaded(t *testing.T) {
	for _, layout := range layouts {
		t.Run(layout.name, func(t *testing.T) {
			t.Parallel()
			var log lines
			s, dir := layout.open(t, log.options())
			for range 3 {
				pair := newPair(t, lifetime)
				layout.put(t, dir, pair)
				waitFor(t, "the new pair serves", serves(s, fingerprint(t, pair)))
			}
			if got := s.Status().Loads; got != 4 {
				t.Errorf("%d certificates, want 4", got)
			}
		})
	}
}

func TestBadPairsAreRefusedOnce(t *testing.T) {
	mine, other := newPair(t, lifetime), newPair(t, lifetime)
	for _, test := range []struct {
		name      string
		cert, key []byte
		want      string
	}{
		{"of two", mine.Cert, other.Key, "private key does not match certificate"},
		{"empty", nil, mine.Key, "certificate is missing"},
		{"torn", mine.Cert[:len(mine.Cert)/2], mine.Key, "certificate is unparsable"},
		{"of nonsense", mine.Cert, []byte("nonsense"), "private key is unparsable"},
		{"too long", bytes.Repeat([]byte("#"), maxFile+1), mine.Key, "longer than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log lines
			s, dir := kubernetes.open(t, log.options())
			before := s.Status().Facts.Fingerprint
			for range 3 { // the same again is not news
				kubernetes.put(t, dir, tlsutil.Pair{Cert: test.cert, Key: test.key})
				waitFor(t, "it is refused", func() bool {
					return s.Status().Refused != nil && strings.Contains(s.Status().Refused.Error(), test.want)
				})
			}
			if s.Status().Facts.Fingerprint != before {
				t.Error("the pair before does not serve any more")
			}
			pair := newPair(t, lifetime)
			kubernetes.put(t, dir, pair)
			waitFor(t, "a good pair serves", serves(s, fingerprint(t, pair)))
			if got := log.with("refused"); len(got) != 1 || s.Status().Refusals != 1 {
				t.Errorf("%d refusals, in the log:\n%s\nwant one", s.Status().Refusals, got)
			}
			if s.Status().Refused != nil {
				t.Errorf("still refused: %v", s.Status().Refused)
			}
		})
	}
}

func TestFilesThatVanishServeOn(t *testing.T) {
	var log lines
	s, dir := layouts[0].open(t, log.options())
	if err := os.Remove(filepath.Join(dir, "tls.key")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it is refused", func() bool { return errors.Is(s.Status().Refused, fs.ErrNotExist) })
	if _, serverErr, err := shake(t, s.Config(), trustingClient(t, s)); serverErr != nil || err != nil {
		t.Errorf("server: %v, client: %v", serverErr, err)
	}
}

// What watching cannot see is read all the same: a link on the way to the directory.
func TestALinkToTheDirectoryIsReplaced(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "tls")
	put := func(release string, pair tlsutil.Pair) {
		if err := os.Mkdir(filepath.Join(parent, release), 0o700); err != nil {
			t.Fatal(err)
		}
		layouts[0].put(t, filepath.Join(parent, release), pair)
		link(t, release, dir+".new")
		rename(t, dir+".new", dir)
	}
	put("1", newPair(t, lifetime))
	s, err := Files(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	often := s.source.(files)
	often.again = 50 * time.Millisecond
	s.source = often
	running(t, s)
	in := newPair(t, lifetime)
	layouts[0].put(t, dir, in)
	waitFor(t, "the pair in the first directory serves", serves(s, fingerprint(t, in)))
	pair := newPair(t, lifetime)
	put("2", pair)
	waitFor(t, "the pair in the second serves", serves(s, fingerprint(t, pair)))
}

func TestFilesThatCannotServeAtFirst(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("cert"), newPair(t, lifetime).Cert)
	write(t, at("key"), newPair(t, lifetime).Key)
	for _, test := range []struct{ cert, key, want string }{
		{"none", "key", "none: no such file"},
		{"cert", "none", "none: no such file"},
		{"cert", ".", "want a regular file"},
		{"cert", "key", "private key does not match certificate"},
	} {
		_, err := Files(at(test.cert), at(test.key), Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %v, want %q", test.cert, test.key, err, test.want)
		}
	}
}

func TestTheEndIsSaidTwice(t *testing.T) {
	var log lines
	o, now := log.options(), time.Now()
	o.Threshold, o.Now = 10*day, func() time.Time { return now }
	dir := t.TempDir()
	layouts[0].put(t, dir, newPair(t, 20*day))
	s, err := Files(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []struct{ days, soon, over int }{{0, 0, 0}, {9, 0, 0}, {11, 1, 0}, {12, 1, 0}, {21, 1, 1}, {22, 1, 1}} {
		now = time.Now().Add(time.Duration(at.days) * day)
		s.Warn()
		if soon, over := len(log.with("expires soon")), len(log.with("has expired")); soon != at.soon || over != at.over {
			t.Errorf("day %d: warned %d times before and %d times after the end, want %d and %d", at.days, soon, over, at.soon, at.over)
		}
	}
}
