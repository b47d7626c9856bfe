package redis_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/redis"
)

// TestBadURLs says of each what is wrong with it, and never its password.
func TestBadURLs(t *testing.T) {
	for url, want := range map[string]string{
		"":                                                     "must be redis://",
		"http://u:s3cret@h":                                    `scheme "http" must be redis or rediss`,
		"redis://u:s3cret@":                                    "must be redis://",
		"redis://u:s3cret@h:99999":                             "must be HOST or HOST:PORT",
		"redis://u:s3cret@h:1:2":                               "must be",
		"redis://u:s3cr%et@h":                                  "escaped with %",
		"redis://:s3cret@h/x":                                  `database "x" must be a number`,
		"redis://:s3cret@h?prefix=":                            "prefix: must be 1 to 64",
		"redis://:s3cret@h?prefix={a}":                         "without blanks and braces",
		"redis://:s3cret@h?pre=a":                              "pre: is no option; there are addr,",
		"redis://:s3cret@h?addr=a":                             "addr: several servers",
		"redis://:s3cret@h?cluster=maybe":                      "cluster: must be true or false",
		"redis://:s3cret@h/1?cluster=true":                     "a cluster has only 0",
		"redis://:s3cret@h?cluster=true&sentinel=m":            "exclude each other",
		"redis://:s3cret@h?wait-replicas=-1":                   "0 to 16",
		"redis://:s3cret@h?ca=/none":                           "for rediss:// only",
		"rediss://:s3cret@h?ca=/none":                          "no such file",
		"redis://:s3cret@h?password-file=/none":                "no such file",
		"redis://:s3cret@h?a=%zz":                              "escaped as %25",
		"redis://:s3cret@h?password-file=" + "/proc/self/comm": "the URL has a password already",
	} {
		_, err := redis.Open(t.Context(), url, redis.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, must say %q in one line without the password", url, err, want)
		}
	}
}
