package username

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestUserNames(t *testing.T) {
	for text, want := range map[string]Wish{
		"": {}, "-": {},
		"country=de":   {Selector: map[string]string{"country": "de"}},
		"session=a@b!": {Session: "a@b!"},
		"session=a=b":  {Session: "a=b"},
		"country=de,session=abc,target=Shop.Example": {Selector: map[string]string{"country": "de"}, Session: "abc", Target: "shop.example"},
		"ns=crawl,ttl=600,kind=a.b_c-d":              {Namespace: "crawl", TTL: 10 * time.Minute, Selector: map[string]string{"kind": "a.b_c-d"}},
		"ttl=10m,target=192.0.2.1":                   {TTL: 10 * time.Minute, Target: "192.0.2.1"},
		"ttl=1":                                      {TTL: time.Second},
		"ttl=3600":                                   {TTL: time.Hour},
		"Session=1":                                  {Selector: map[string]string{"Session": "1"}},
	} {
		if got, err := Parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q asks for %+v, %v", text, got, err)
		}
	}
}

func TestUserNamesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"country-de":                       `user name: "country-de" is no key=value pair: write country=de`,
		"abc":                              `"abc" is no key=value pair: write session=abc for a session of that name`,
		"a b":                              `"a b" is no key=value pair: write for example country=de,session=abc`,
		"country=":                         "country has no value: write country=VALUE, or leave it out",
		"=de":                              `"" is no key`,
		"country=de,":                      "a pair is empty",
		",country=de":                      "a pair is empty",
		"-,country=de":                     `"-" is no key=value pair`,
		"country=de,country=de":            "country comes twice: say it once",
		"session=a,session=b":              "session comes twice",
		"session=a b":                      `session "a b" is no name`,
		"session=é":                        `session "\u00e9" is no name`,
		"session=" + long(65):              "is no name: 1 to 64 printable characters",
		"target=shop.example:443":          `target "shop.example:443" is no host name: write it without port`,
		"target=a..b":                      "is no host name",
		"ns=Crawl":                         `ns "Crawl" is no namespace`,
		"ttl=0":                            `ttl "0" is no life of a lease: whole seconds from 1 to 3600, for example ttl=300`,
		"ttl=3601":                         "is no life of a lease",
		"ttl=1500ms":                       "is no life of a lease",
		"ttl=-5s":                          "is no life of a lease",
		"ttl=soon":                         "is no life of a lease",
		"country=d e":                      `country cannot be "d e"`,
		"country=" + long(64):              "country cannot be",
		"un=\x00":                          `un cannot be "\x00"`,
		"a=" + long(60) + ",b" + long(200): "it has 264 bytes, and 255 are what SOCKS can carry",
	} {
		_, err := Parse(text)
		if _, ok := errors.AsType[*HintError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// FuzzUserName: whatever is read, written and read again is the same, and every refusal
// is one line of ASCII that can be sent in a header.
func FuzzUserName(f *testing.F) {
	for _, seed := range []string{"", "-", "country=de,session=abc,target=shop.example", "ns=a,ttl=1h", "a=b,a=b", "=,=", "session=\x7f", "ttl=1e3s", "target=[::1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Parse(text)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) || len(err.Error()) > 512 {
				t.Fatalf("%q: %q cannot be told", text, err)
			}
			return
		}
		if again, err := parse(w.String()); err != nil || !reflect.DeepEqual(again, w) {
			t.Fatalf("%q is %+v, and written %q is %+v, %v", text, w, w.String(), again, err)
		}
		if w.TTL < 0 || w.TTL > maxTTL || len(w.Session) > MaxSession || w.Target != strings.ToLower(w.Target) {
			t.Fatalf("%q is %+v", text, w)
		}
	})
}
