package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// address is what a URL says.
type address struct {
	hosts          []string // HOST:PORT of servers, or of sentinels
	user, password string
	passwordFile   string
	db             int
	prefix         string // "" where the URL has none
	sentinel       string // the name of what they watch
	cluster        bool
	replicas       int // that have to confirm what is granted
	tls            *tls.Config
}

// addressForm is said in errors.
const addressForm = "redis://[USER:PASSWORD@]HOST[:PORT][/DB], or rediss:// for TLS"

// prefixOf is that of the keys of a fleet where the URL has none.
func prefixOf(fleet string) string {
	if fleet == "" {
		return "gatehouse"
	}
	return "gatehouse:" + fleet
}

// parseAddress reads a URL. Its errors do not repeat the URL, which may have a password.
func parseAddress(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" || u.Fragment != "" {
		return address{}, errors.New("must be " + addressForm + "; what is special in a password is escaped with %")
	}
	a := address{user: u.User.Username()}
	a.password, _ = u.User.Password()
	if err := a.scheme(u); err != nil {
		return address{}, err
	}
	if err := a.host(u.Host); err != nil {
		return address{}, err
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if a.db, err = strconv.Atoi(db); err != nil || a.db < 0 {
			return address{}, fmt.Errorf("database %q must be a number: %s", db, addressForm)
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return address{}, errors.New("what is after ? must be KEY=VALUE&…, with % escaped as %25")
	}
	for _, key := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[key] {
			if err := a.option(key, value); err != nil {
				return address{}, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return a, a.fits()
}

func (a *address) scheme(u *url.URL) error {
	switch u.Scheme {
	case "redis":
	case "rediss":
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	default:
		return fmt.Errorf("scheme %q must be redis or rediss: %s", u.Scheme, addressForm)
	}
	return nil
}

// host adds a server, at Redis's port if it has none.
func (a *address) host(text string) error {
	host, port := text, "6379"
	if h, p, err := net.SplitHostPort(text); err == nil {
		host, port = h, p
	}
	n, err := strconv.ParseUint(port, 10, 16)
	bare := strings.Trim(host, "[]")
	if strings.Contains(bare, ":") && net.ParseIP(bare) == nil {
		bare = ""
	}
	host = bare
	if err != nil || n == 0 || host == "" || strings.ContainsAny(host, " ,/") {
		return fmt.Errorf("%q must be HOST or HOST:PORT; further servers are named by ?addr=HOST:PORT", text)
	}
	a.hosts = append(a.hosts, net.JoinHostPort(host, port))
	return nil
}

func (a *address) option(key, value string) (err error) {
	switch key {
	case "prefix":
		a.prefix = value
		if value == "" || len(value) > 64 || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' || r == '{' || r == '}' }) {
			return errors.New("must be 1 to 64 printable characters without blanks and braces")
		}
	case "addr":
		return a.host(value)
	case "sentinel":
		if a.sentinel = value; value == "" {
			return errors.New("must be the name of the master that the sentinels watch")
		}
	case "cluster":
		if a.cluster, err = strconv.ParseBool(value); err != nil {
			return errors.New("must be true or false")
		}
	case "wait-replicas":
		if a.replicas, err = strconv.Atoi(value); err != nil || a.replicas < 0 || a.replicas > 16 {
			return errors.New("must be how many replicas have to confirm a grant, 0 to 16")
		}
	case "password-file":
		a.passwordFile = value
		_, err = readPassword(value)
		return err
	case "ca":
		return a.trust(value)
	default:
		return errors.New("is no option; there are addr, ca, cluster, password-file, prefix, sentinel and wait-replicas")
	}
	return nil
}

// trust takes the certificates that a server's is issued by, in place of the system's.
func (a *address) trust(file string) error {
	if a.tls == nil {
		return errors.New("is for rediss:// only")
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	a.tls.RootCAs = x509.NewCertPool()
	if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s has no certificate in PEM", file)
	}
	return nil
}

func readPassword(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// fits says whether the options go together.
func (a *address) fits() error {
	switch {
	case a.cluster && a.sentinel != "":
		return errors.New("sentinel and cluster exclude each other: a cluster fails over by itself")
	case a.cluster && a.db != 0:
		return fmt.Errorf("database %d: a cluster has only 0", a.db)
	case len(a.hosts) > 1 && !a.cluster && a.sentinel == "":
		return errors.New("addr: several servers are the nodes of a cluster, cluster=true, or sentinels, sentinel=NAME")
	case a.password != "" && a.passwordFile != "":
		return errors.New("password-file: the URL has a password already; leave one of them out")
	}
	return nil
}

// where names the servers, without secrets.
func (a *address) where() string { return strings.Join(a.hosts, ", ") }
