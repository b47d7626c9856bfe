// Package cloudinit writes the user data that turns a fresh Debian into a forward proxy:
// gatehouse-forward, squid or tinyproxy.
//
// It is pure, and the same request gives the same bytes: user data is part of what an
// instance is made from, so a byte that changes by itself would replace a fleet.
package cloudinit

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Request is what user data is made from.
type Request struct {
	// Instance is the name of the instance, which credentials of leases are bound to;
	// empty is the machine's host name, so that the same user data serves several.
	Instance string
	// Port is 1 to 65535, Scheme http, https or socks5.
	Port   int
	Scheme string
	// Username and Password may both be empty only for programs that are told whom to
	// serve in another way; LeaseKey, TLSCert and TLSKey may be nil.
	Username, Password string
	LeaseKey           []byte
	TLSCert, TLSKey    []byte // PEM, for https
	// Forward is where instances get gatehouse-forward.
	Forward Forward
}

// Forward is where instances get gatehouse-forward: an https URL, and the SHA-256 of
// what it answers, in 64 hexadecimal digits.
type Forward struct{ URL, SHA256 string }

// Validate returns what is wrong with the place, in one line.
func (f Forward) Validate() error {
	at, err := url.Parse(f.URL)
	switch {
	case f.URL == "":
		return errors.New("the URL is empty: give --forward-url and --forward-sha256, or user data in spec.cloudInit")
	case err != nil || at.Scheme != "https" || at.Host == "" || strings.ContainsAny(f.URL, "'\"\\ \n"):
		return fmt.Errorf("%q is no https URL", f.URL)
	case !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(f.SHA256):
		return fmt.Errorf("%q is no SHA-256: give 64 hexadecimal digits, as sha256sum prints them", f.SHA256)
	}
	return nil
}

// document is a cloud-config. See cloudinit.readthedocs.io, "Module reference".
type document struct {
	Packages []string   `yaml:"packages,omitempty"`
	Files    []file     `yaml:"write_files"`
	Commands [][]string `yaml:"runcmd"`
}

type file struct {
	Path        string `yaml:"path"`
	Permissions string `yaml:"permissions"`
	Encoding    string `yaml:"encoding,omitempty"`
	Content     string `yaml:"content"`
}

func (d document) bytes() ([]byte, error) {
	body, err := yaml.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("write user data: %w", err)
	}
	return append([]byte("#cloud-config\n"), body...), nil
}

// secret is a file of any bytes that only root reads.
func secret(path string, content []byte) file {
	return file{Path: path, Permissions: "0400", Encoding: "b64", Content: base64.StdEncoding.EncodeToString(content)}
}

func text(path, permissions, content string) file {
	return file{Path: path, Permissions: permissions, Content: content}
}

func (r Request) validate() error {
	switch {
	case r.Port < 1 || r.Port > 65535:
		return fmt.Errorf("port %d: must be 1 to 65535", r.Port)
	case (r.Username == "") != (r.Password == ""):
		return errors.New("username and password: give both or neither")
	case strings.ContainsAny(r.Username, ":\x00\r\n") || strings.ContainsAny(r.Password, "\x00\r\n"):
		return errors.New("username or password: a username has no colon, and neither has a line break or a NUL byte")
	}
	return nil
}
