package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/credential"
)

// The files of a directory of credentials.
const (
	fileUsername = "username"
	filePassword = "password"
	fileLeaseKey = "lease-key"
)

// Credentials are what a proxy's clients authenticate with.
type Credentials struct {
	Username, Password string // both empty, or both 1 to 255 bytes
	LeaseKey           []byte // nil, or at least [credential.MinKey] bytes
	Instance           string // what the credentials of leases are made for
}

// Any says whether there are any.
func (c Credentials) Any() bool { return c.Username != "" || c.LeaseKey != nil }

// Load reads the files username, password and lease-key of a directory. A missing one
// is absent; without any, there are no credentials. One line break at the end of username and password
// does not count; lease-key is taken as it is.
func Load(dir, instance string) (Credentials, error) {
	files, err := os.OpenRoot(dir)
	if err != nil {
		return Credentials{}, err
	}
	defer func() { _ = files.Close() }()
	c := Credentials{Instance: instance}
	if c.Username, err = readLine(files, fileUsername); err != nil {
		return Credentials{}, err
	}
	if c.Password, err = readLine(files, filePassword); err != nil {
		return Credentials{}, err
	}
	if c.LeaseKey, err = readFile(files, fileLeaseKey); err != nil {
		return Credentials{}, err
	}
	return c, c.check()
}

func (c Credentials) check() error {
	switch {
	case (c.Username == "") != (c.Password == ""):
		return errors.New("of the files username and password it has only one, or one is empty: it needs both or none")
	case strings.Contains(c.Username, ":"):
		return errors.New("the user name has a colon, which HTTP cannot carry: choose another")
	case len(c.Username) > 255 || len(c.Password) > 255:
		return errors.New("user name or password is longer than the 255 bytes that SOCKS can carry: shorten it")
	case c.LeaseKey != nil && len(c.LeaseKey) < credential.MinKey:
		return fmt.Errorf("lease-key has %d bytes, must have at least %d", len(c.LeaseKey), credential.MinKey)
	case c.LeaseKey != nil && c.Instance == "":
		return errors.New("with a lease-key the name of the instance is needed too: give --instance")
	}
	return nil
}

func readLine(files *os.Root, name string) (string, error) {
	b, err := readFile(files, name)
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), err
}

// readFile returns nil for a file that does not exist, and not nil for an empty one.
func readFile(files *os.Root, name string) ([]byte, error) {
	b, err := files.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}
