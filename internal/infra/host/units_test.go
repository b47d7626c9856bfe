package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

func TestFolderNames(t *testing.T) {
	long := model.GatewayID(strings.Repeat("n", 63) + "/" + strings.Repeat("g", 253))
	for id, want := range map[model.GatewayID]string{
		"shop/edge": "shop_edge",
		"a.b/c-d":   "a.b_c-d",
		"../../etc": "%2E._.._etc",
		"":          "%",
		"a_b/Ä":     "a%5Fb_%C3%84",
		"/":         "_",
		long:        strings.Repeat("n", 63) + "_" + strings.Repeat("g", 23) + "~" + shortHash(string(long), 16),
	} {
		if got := folderName(id); got != want {
			t.Errorf("%q: folder %q, want %q", id, got, want)
		}
	}
}

// TestFolderNamesAreSafeAndApart: one path element each, and never the same for two.
func TestFolderNamesAreSafeAndApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.OneOf(rapid.StringMatching(`[a_/%.A5F~]{0,4}`), rapid.String(), rapid.StringN(90, 130, -1))
		a, b := model.GatewayID(names.Draw(t, "a")), model.GatewayID(names.Draw(t, "b"))
		name := folderName(a)
		if name == "" || name[0] == '.' || len(name) > maxFolderName || strings.ContainsAny(name, "/\x00") {
			t.Fatalf("%q: folder %q", a, name)
		}
		if a != b && name == folderName(b) {
			t.Fatalf("%q and %q share folder %q", a, b, name)
		}
	})
}

func TestBackoff(t *testing.T) {
	jitter := 0.0
	b := backoff{longest: maxPause, jitter: func() float64 { return jitter }}
	var got []time.Duration
	for range 12 {
		got = append(got, b.next(time.Second))
	}
	ms := time.Millisecond
	want := []time.Duration{0, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, maxPause, maxPause}
	if !slices.Equal(got, want) {
		t.Errorf("pauses %s, want %s", got, want)
	}
	if first := b.next(stableRun); first != 0 {
		t.Errorf("pause %s after a stable run, want none", first)
	}
	if jitter = 0.5; b.next(0) != 75*ms {
		t.Error("jitter of one half does not cut a quarter")
	}
}

func TestParseVersion(t *testing.T) {
	for out, want := range map[string]string{
		"\n/x/envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL\n": "1.40.0",
		"envoy  version: abc/1.41.0-dev/Modified/DEBUG/BoringSSL":                                        "1.41.0-dev",
		"hello": "",
		"":      "",
	} {
		if got, ok := parseVersion(out); got != want || ok != (want != "") {
			t.Errorf("%q: version %q, %t", out, got, ok)
		}
	}
	for version, warns := range map[string]bool{"1.40.0": false, "1.40.7": false, "1.39.2": true, "1.4.0": true, "1.41.0-dev": true} {
		if got := VersionWarning(version); (got != "") != warns {
			t.Errorf("%s: warning %q", version, got)
		}
	}
}

func TestVersionOfRealAndOther(t *testing.T) {
	if version, err := Version(t.Context(), envoyBinary(t)); err != nil || version != EnvoyVersion {
		t.Errorf("version %q, error %v, want %s", version, err, EnvoyVersion)
	}
	for name, script := range map[string]string{"fails": "exit 1", "speaks otherwise": "echo hello"} {
		if _, err := Version(t.Context(), program(t, script)); err == nil || !strings.Contains(err.Error(), "--envoy") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestFindEnvoy(t *testing.T) {
	good, dir := program(t, "exit 0"), t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cached := filepath.Join(dir, "gatehouse", "envoy", EnvoyVersion)
	if err := os.MkdirAll(cached, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(good, filepath.Join(cached, "envoy")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		flag, variable, path, cache string
		how, err                    string
	}{
		"flag wins":          {flag: good, variable: "/nowhere", how: "flag"},
		"flag is wrong":      {flag: "/nowhere", variable: good, err: `--envoy "/nowhere": no such file or directory; name an Envoy 1.40.0 binary`},
		"flag is no program": {flag: plain, err: "is not executable"},
		"flag is a folder":   {flag: dir, err: "is a directory"},
		"variable wins":      {variable: good, path: filepath.Dir(good), how: "environment"},
		"variable is wrong":  {variable: "/nowhere", path: filepath.Dir(good), err: `$GATEHOUSE_ENVOY "/nowhere": no such file`},
		"path":               {path: filepath.Dir(good), cache: dir, how: "PATH"},
		"cache":              {cache: dir, how: "cache"},
		"nowhere":            {cache: "/nowhere", err: "the cache has none (stat /nowhere/gatehouse/envoy/1.40.0/envoy: no such file or directory); get one with \"make envoy\", or name one in $GATEHOUSE_ENVOY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(EnvoyVariable, c.variable)
			t.Setenv("PATH", c.path)
			t.Setenv("XDG_CACHE_HOME", c.cache)
			path, how, err := FindEnvoy(c.flag)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || how != c.how || filepath.Base(path) != "envoy" {
				t.Errorf("%q by %q, error %v, want by %q", path, how, err, c.how)
			}
		})
	}
}

func TestSocketDir(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	short := filepath.Join(t.TempDir(), "s")
	if dir, err := SocketDir(short); err != nil || dir != filepath.Join(short, "run") {
		t.Errorf("directory %q, error %v", dir, err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	first, err := SocketDir(long)
	again, errAgain := SocketDir(long)
	other, errOther := SocketDir(long + "er")
	t.Cleanup(func() {
		for _, dir := range []string{first, other} {
			if err := RemoveSocketDir(dir); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || errAgain != nil || errOther != nil || first != again || first == other || !fits(first) {
		t.Errorf("directories %q, %q and %q, errors %v, %v, %v", first, again, other, err, errAgain, errOther)
	}
	if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.MkdirAll(filepath.Join(open, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(open, "run"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := SocketDir(open); err == nil || !strings.Contains(err.Error(), "written by") {
		t.Errorf("a directory that anybody can write to: error %v", err)
	}
}

func TestParseStat(t *testing.T) {
	fields := " 22382 22382 12915 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 1 0 109980 3133440 409"
	for stat, want := range map[string]uint64{
		"1 (cat) R" + fields:       109980,
		"1 (a) R (b c) S" + fields: 109980,
		"1 (cat) Z" + fields:       0,
		"1 (cat) R 1 2 3":          0,
		"":                         0,
	} {
		if got, err := parseStat(stat); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, error %v, want %d", stat, got, err, want)
		}
	}
}

func TestCountLoad(t *testing.T) {
	got := countLoad(map[string]uint64{
		"http.admin.downstream_cx_active": 1, "listener.admin.downstream_cx_active": 1, "http.admin.downstream_rq_active": 1,
		"listener.127.0.0.1_80.downstream_cx_active": 3, "listener.127.0.0.1_80.worker_0.downstream_cx_active": 3,
		"http.web.downstream_cx_active": 3, "http.web.downstream_rq_active": 1,
		"listener.127.0.0.1_9000.downstream_cx_active": 2,
	})
	if want := (load{open: 5, busy: 3}); got != want {
		t.Errorf("load %+v, want %+v", got, want)
	}
}

func TestLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "envoy.log")
	prefix := "[2026-11-29 23:16:56.490][22626][warning][main] [source/server/server.cc:1059] "
	before := "old\n"
	if err := os.WriteFile(path, []byte(before+prefix+"one\n\n"+prefix+"two [x] y\nthree\n[odd\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tail(path, int64(len(before))); !slices.Equal(got, []string{"two [x] y", "three", "[odd"}) {
		t.Errorf("tail %q", got)
	}
	if got := tail(path, 1<<20); len(got) != tailLines {
		t.Errorf("tail of a log that was cut %q", got)
	}
	if got := tail(path+"x", 0); got != nil {
		t.Errorf("tail of no file %q", got)
	}
	for _, limit := range []int64{1 << 20, 10} {
		file, err := openLog(path, limit)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	now, err := os.ReadFile(path)
	old, errOld := os.ReadFile(path + ".1")
	if err != nil || errOld != nil || len(now) != 0 || !strings.HasPrefix(string(old), before) {
		t.Errorf("after the rotation %q and %q, errors %v and %v", now, old, err, errOld)
	}
}

func TestTrimmedLogGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	file, err := openLog(path, maxLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, step := range []struct{ write, now, before string }{
		{write: "short\n", now: "short\n"},
		{write: "longer than ten\n", now: "", before: "short\nlonger than ten\n"},
		{write: "new\n", now: "new\n", before: "short\nlonger than ten\n"},
	} {
		if _, err := file.WriteString(step.write); err != nil {
			t.Fatal(err)
		}
		if err := trim(path, 10); err != nil {
			t.Fatal(err)
		}
		now, _ := os.ReadFile(path)
		before, _ := os.ReadFile(path + ".1")
		if string(now) != step.now || string(before) != step.before {
			t.Errorf("after %q: now %q, before %q", step.write, now, before)
		}
	}
}

func TestEnvironmentPassesNoSecret(t *testing.T) {
	got := environment([]string{"PATH=/bin", "DB_PASSWORD=x", "HOME=/root", "PATHX=1", "odd"})
	if !slices.Equal(got, []string{"PATH=/bin", "HOME=/root"}) {
		t.Errorf("environment %q", got)
	}
}

func TestBootstrapHashIgnoresWhatARunningProcessTakes(t *testing.T) {
	l := launcher{envoy: "/envoy", xdsSocket: "/x.sock", binary: "b"}
	hash := func(l launcher, g model.GatewayID, s model.Settings) string {
		t.Helper()
		h, err := l.hash(g, s)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(l, edge, model.Settings{Concurrency: 1})
	if hash(l, edge, model.Settings{Concurrency: 1, LogLevel: "debug", AccessLog: "-"}) != base {
		t.Error("log level or access log would restart the process")
	}
	moved, upgraded := l, l
	moved.xdsSocket, upgraded.binary = "/y.sock", "c"
	for name, other := range map[string]string{
		"concurrency": hash(l, edge, model.Settings{Concurrency: 2}),
		"statistic":   hash(l, edge, model.Settings{Concurrency: 1, Statistics: []string{"http."}}),
		"gateway":     hash(l, "shop/other", model.Settings{Concurrency: 1}),
		"xDS socket":  hash(moved, edge, model.Settings{Concurrency: 1}),
		"Envoy":       hash(upgraded, edge, model.Settings{Concurrency: 1}),
	} {
		if other == base {
			t.Errorf("another %s would not restart the process", name)
		}
	}
}
