package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// pooledSuffix ends the id of a pooled backend.
const pooledSuffix = ".pool"

// ParseStatic reads backends written as "id[.pool]=host:port,…", with IPv6 addresses in
// brackets. Space around an entry is ignored. It returns all that is wrong, one error an
// entry, each with its remedy.
func ParseStatic(text string) ([]Backend, []error) {
	var backends []Backend
	var errs []error
	taken := map[form]int{}
	for i, entry := range strings.Split(text, ",") {
		entry = strings.TrimSpace(entry)
		b, err := parseEntry(entry)
		if first, twice := taken[form{b.Deployment, b.Pooled}]; err == nil && twice {
			err = fmt.Errorf("names the same backend as entry %d; keep one of them", first)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("entry %d %q %w", i+1, entry, err))
			continue
		}
		taken[form{b.Deployment, b.Pooled}] = i + 1
		backends = append(backends, b)
	}
	return backends, errs
}

func parseEntry(entry string) (Backend, error) {
	if entry == "" {
		return Backend{}, errors.New("is empty; write DEPLOYMENT=HOST:PORT, and no comma after the last")
	}
	id, address, ok := strings.Cut(entry, "=")
	if !ok {
		return Backend{}, errors.New("has no \"=\"; write DEPLOYMENT=HOST:PORT or DEPLOYMENT.pool=HOST:PORT")
	}
	b := Backend{Deployment: id}
	b.Deployment, b.Pooled = strings.CutSuffix(id, pooledSuffix)
	if err := checkDeployment(b.Deployment); err != nil {
		return Backend{}, err
	}
	host, port, err := splitAddress(address)
	if err != nil {
		return Backend{}, err
	}
	b.Host, b.Port = host, port
	return b, nil
}

// checkDeployment refuses names that no login, option or host name can say.
func checkDeployment(name string) error {
	switch {
	case name == "":
		return errors.New("names no deployment; write its name before \"=\" or \".pool\"")
	case strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."):
		return errors.New("has an empty part between dots in its name; write a name such as orders")
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return errors.New("has a space or a control character in its name; take it out")
	}
	return nil
}

// splitAddress reads HOST:PORT.
func splitAddress(address string) (host string, port uint16, err error) {
	host, text, ok := strings.CutLast(address, ":")
	if !ok {
		return "", 0, fmt.Errorf("has no port; write HOST:PORT, for example %s:5432", cmp.Or(address, "127.0.0.1"))
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("has port %q; it must be a number from 1 to 65535", text)
	}
	host, err = checkHost(host)
	return host, uint16(n), err
}

// hostName is what a DNS name may look like, underscores included, as Service names of
// some clusters have them; the last part is no number (RFC 1123, section 2.1).
var hostName = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?$`)

// checkHost returns a host without brackets.
func checkHost(host string) (string, error) {
	inner, bracketed := strings.CutPrefix(host, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	ip, err := netip.ParseAddr(inner)
	switch {
	case host == "":
		return "", errors.New("has no host; write HOST:PORT, for example 127.0.0.1:5432")
	case bracketed != closed, bracketed && (err != nil || !ip.Is6()):
		return "", fmt.Errorf("has host %q; only an IPv6 address is written in brackets, for example [::1]:5432", host)
	case err == nil && ip.Is6() && !bracketed, err != nil && strings.Contains(host, ":"):
		return "", fmt.Errorf("has host %q; write an IPv6 address in brackets, for example [::1]:5432", host)
	case err == nil && (ip.IsUnspecified() || ip.IsMulticast()):
		return "", fmt.Errorf("has host %q, which is no server's address; write that of the server, for example 127.0.0.1", host)
	case err != nil && (len(host) > 253 || !hostName.MatchString(host)):
		return "", fmt.Errorf("has host %q; it must be a DNS name or an IP address", host)
	}
	return inner, nil
}
