package cloudinit

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// authDir is where gatehouse-forward's credentials are, readable by root alone; the
// service gets copies.
const authDir = "/etc/gatehouse-forward/auth"

// UserData returns a cloud-config that installs gatehouse-forward and starts it with
// the credentials of the request.
func UserData(r Request) ([]byte, error) {
	if err := cmp.Or(r.validate(), r.validateForward()); err != nil {
		return nil, err
	}
	credentials := r.credentials()
	if len(credentials) == 0 {
		return nil, errors.New("a proxy that the Internet reaches needs credentials: give auth.secretRef, or user data in spec.cloudInit")
	}
	d := document{Files: credentials, Commands: [][]string{{"/usr/local/sbin/install-gatehouse-forward"}}}
	d.Files = append(d.Files,
		text("/usr/local/sbin/install-gatehouse-forward", "0700", installScript(r.Forward)),
		text("/etc/systemd/system/gatehouse-forward.service", "0644", r.unit(credentials)))
	return d.bytes()
}

func (r Request) validateForward() error {
	switch {
	case r.Scheme != "http" && r.Scheme != "https" && r.Scheme != "socks5":
		return fmt.Errorf("scheme %q: must be http, https or socks5", r.Scheme)
	case r.Scheme == "https" && (len(r.TLSCert) == 0 || len(r.TLSKey) == 0):
		return errors.New("scheme https needs tls.crt and tls.key in the Secret of auth.secretRef")
	case strings.ContainsFunc(r.Instance, notNameRune):
		return fmt.Errorf("instance %q: must be a name of letters, digits and dashes", r.Instance)
	}
	return r.Forward.Validate()
}

func notNameRune(c rune) bool {
	return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z')
}

func (r Request) credentials() []file {
	var files []file
	for _, c := range []struct {
		name    string
		content []byte
	}{
		{"username", []byte(r.Username)},
		{"password", []byte(r.Password)},
		{"lease-key", r.LeaseKey},
		{"tls.crt", r.TLSCert},
		{"tls.key", r.TLSKey},
	} {
		if len(c.content) > 0 {
			files = append(files, secret(authDir+"/"+c.name, c.content))
		}
	}
	return files
}

// hostName is what systemd writes the short host name for.
const hostName = "%l"

// unit runs the proxy as a user of its own that owns nothing; systemd hands it copies
// of the credentials. See systemd.exec(5).
func (r Request) unit(credentials []file) string {
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=Forward proxy\nWants=network-online.target\nAfter=network-online.target\n\n[Service]\n")
	fmt.Fprintf(&b, "ExecStart=/usr/local/bin/gatehouse-forward --listen [::]:%d --scheme %s --instance %s --auth-dir ${CREDENTIALS_DIRECTORY}\n",
		r.Port, r.Scheme, cmp.Or(r.Instance, hostName))
	for _, f := range credentials {
		fmt.Fprintf(&b, "LoadCredential=%s:%s\n", strings.TrimPrefix(f.Path, authDir+"/"), f.Path)
	}
	if r.Port < 1024 {
		b.WriteString("AmbientCapabilities=CAP_NET_BIND_SERVICE\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\n")
	} else {
		b.WriteString("CapabilityBoundingSet=\n")
	}
	b.WriteString(hardening)
	b.WriteString("\n[Install]\nWantedBy=multi-user.target\n")
	return b.String()
}

const hardening = `DynamicUser=yes
Restart=always
RestartSec=1
LimitNOFILE=65536
NoNewPrivileges=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
`

// installScript fetches the program with whatever the image has, and starts nothing
// that is not what was promised. ROOT is for a dry run in a directory.
func installScript(f Forward) string {
	return strings.NewReplacer("@URL@", f.URL, "@SHA256@", f.SHA256).Replace(`#!/bin/sh
set -eu
root=${ROOT:-}
program=$root/usr/local/bin/gatehouse-forward

fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL --max-time 300 -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget -q -T 60 -O "$2" "$1"
  else
    python3 -c 'import shutil, sys, urllib.request; shutil.copyfileobj(urllib.request.urlopen(sys.argv[1], timeout=60), open(sys.argv[2], "wb"))' "$1" "$2"
  fi
}

mkdir -p "$root/usr/local/bin"
left=${ATTEMPTS:-30}
until fetch '@URL@' "$program.new" && echo "@SHA256@  $program.new" | sha256sum -c --quiet -; do
  rm -f "$program.new"
  left=$((left - 1))
  if [ "$left" -le 0 ]; then
    echo "gatehouse-forward could not be fetched from @URL@" >&2
    exit 1
  fi
  sleep 10
done
chmod 0755 "$program.new"
mv "$program.new" "$program"
if [ -d /run/systemd/system ] && [ -z "$root" ]; then
  systemctl daemon-reload
  systemctl enable --now gatehouse-forward.service
fi
`)
}
