package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Each of these checks one setting's values as given, puts the result into the
// field, and otherwise says in one line what is wrong and what would be right.

func one(values []string) (string, error) {
	switch {
	case len(values) > 1:
		return "", errors.New("takes one value; give it once")
	case len(values) == 0 || values[0] == "":
		return "", errors.New("is empty; give a value or leave the setting out")
	}
	return values[0], nil
}

func setText(to *string, values []string) error {
	if len(values) == 0 { // no default
		return nil
	}
	v, err := one(values)
	*to = v
	return err
}

func setPaths(to *[]string, values []string) error {
	for _, v := range values {
		if v == "" {
			return errors.New("has an empty path; name a file or a directory")
		}
		if clean := filepath.Clean(v); !slices.Contains(*to, clean) {
			*to = append(*to, clean)
		}
	}
	return nil
}

func setControllerName(to *string, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	domain, path, found := strings.Cut(v, "/")
	if !found || path == "" || len(validation.IsDNS1123Subdomain(domain)) > 0 {
		return errors.New("must be a domain and a path, for example gatehouse.dev/gateway-controller")
	}
	*to = v
	return nil
}

func setAddress(to *netip.Addr, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	*to, err = netip.ParseAddr(v)
	if err != nil {
		return errors.New("must be an IP address, for example 127.0.0.1, or 0.0.0.0 for every IPv4 address")
	}
	return nil
}

func setHostPort(to *string, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	if err := CheckHostPort(v); err != nil {
		return err
	}
	*to = v
	return nil
}

// CheckHostPort returns what is wrong with an address of the form HOST:PORT, if anything.
func CheckHostPort(v string) error {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return errors.New("must be HOST:PORT, for example 127.0.0.1:19000 or [::1]:19000")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("has port %q; it must be a number from 0 to 65535", port)
	}
	return nil
}

func setDirectory(to *string, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	*to, err = filepath.Abs(v)
	return err
}

func setSwitch(to *bool, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	on, err := strconv.ParseBool(strings.ToLower(v))
	if err != nil {
		return errors.New("must be true or false")
	}
	*to = on
	return nil
}

func setDuration(to *time.Duration, values []string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > time.Hour {
		return errors.New("must be a duration from 0s to 1h, for example 5s or 1m30s")
	}
	*to = d
	return nil
}

// Bounds of a request from an Envoy. Less is what gRPC takes by itself; more cannot
// be said in the frame of a message.
const (
	minReceive = 4 << 20
	maxReceive = 1<<31 - 1
)

func setBytes(to *int, values []string, least, most int) error {
	return setNumber(to, values, "a number of bytes", least, most)
}

// setNumber takes whole numbers; what says what they count: "a number of bytes".
func setNumber(to *int, values []string, what string, least, most int) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return fmt.Errorf("must be %s from %d to %d", what, least, most)
	}
	*to = n
	return nil
}

func setChoice(to *string, values []string, choices ...string) error {
	v, err := one(values)
	if err != nil {
		return err
	}
	if !slices.Contains(choices, v) {
		return fmt.Errorf("must be one of %s", strings.Join(choices, ", "))
	}
	*to = v
	return nil
}

func setProver(to *Prover, values []string) error {
	return setChoice((*string)(to), values, string(ProverRequired), string(ProverPreferred), string(ProverOff))
}

func setLogFormat(to *bool, values []string) error {
	var format string
	err := setChoice(&format, values, "text", "json")
	*to = format == "json"
	return err
}
