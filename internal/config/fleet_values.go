package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
)

// knownProviders are what spec.provider may be, sorted.
var knownProviders = []string{"gcp", "hetzner", "kubernetes", "process"}

func setProviders(to *[]string, values []string) error {
	for _, list := range values {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if !slices.Contains(knownProviders, name) {
				return errors.New("must be names with commas between them, of " + strings.Join(knownProviders, ", "))
			}
			if !slices.Contains(*to, name) {
				*to = append(*to, name)
			}
		}
	}
	slices.Sort(*to)
	return nil
}

func setMaxUnavailable(to *lifecycle.Budget, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	if *to, err = lifecycle.ParseBudget(v); err != nil {
		return errors.New("must be a number from 1, or a percentage from 1% to 100%")
	}
	return nil
}

// Bounds of the intervals of a fleet.
const (
	minSpan = time.Second
	maxSpan = 24 * time.Hour
)

// setSpan takes durations; both bounds are within.
func setSpan(to *time.Duration, values []string, least, most time.Duration) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < least || d > most {
		return fmt.Errorf("must be a duration from %s to %s, for example 10m", short(least), short(most))
	}
	*to = d
	return nil
}

// short writes 24h0m0s as 24h.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	case d >= time.Minute && d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return d.String()
}

func setOnOff(to *bool, values []string) error {
	var mode string
	err := setChoice(&mode, values, "on", "off")
	*to = mode == "on"
	return err
}

func setURL(to *string, values []string) error {
	if len(values) == 0 {
		return nil
	}
	v, err := one(values)
	if err != nil {
		return err
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("must be a URL, for example https://example.com/path")
	}
	if u.User != nil {
		return Errors{errors.New("has a user in it, which everybody would see; leave it out")} // without the value
	}
	*to = v
	return nil
}

func setSHA256(to *string, values []string) error {
	if len(values) == 0 {
		return nil
	}
	v, err := one(values)
	if err != nil {
		return err
	}
	sum, err := hex.DecodeString(v)
	if err != nil || len(sum) != 32 {
		return errors.New("must be 64 hexadecimal digits, as sha256sum prints them")
	}
	*to = strings.ToLower(v)
	return nil
}

// setStateDir takes an empty one: a pod has no home directory, and needs none.
func setStateDir(to *string, values []string) error {
	if strings.Join(values, "") == "" {
		return nil
	}
	return setDirectory(to, values)
}
