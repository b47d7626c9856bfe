package cloudinit

import (
	"cmp"
	"fmt"
	"strings"
)

// Squid returns a cloud-config that installs squid with the username and password of
// the request, for scheme http.
func Squid(r Request) ([]byte, error) {
	if err := cmp.Or(r.validate(), r.validatePackaged("squid")); err != nil {
		return nil, err
	}
	return document{
		Packages: []string{"squid", "nftables", "openssl"},
		Files: []file{
			secret("/etc/squid/gatehouse-username", []byte(r.Username)),
			secret("/etc/squid/gatehouse-password", []byte(r.Password)),
			text("/usr/local/sbin/make-squid-users", "0700", squidUsers),
			text("/etc/squid/squid.conf", "0644", squidConfiguration(r.Port)),
			text("/etc/nftables.conf", "0755", guard("proxy")),
		},
		Commands: [][]string{
			{"/usr/local/sbin/make-squid-users"},
			{"systemctl", "enable", "--now", "nftables.service"},
			{"systemctl", "restart", "nftables.service", "squid.service"},
		},
	}.bytes()
}

// validatePackaged refuses what a program of the distribution cannot do.
func (r Request) validatePackaged(program string) error {
	switch {
	case r.Scheme != "http":
		return fmt.Errorf("scheme %q: %s is set up for http only; use gatehouse-forward", r.Scheme, program)
	case r.Username == "":
		return fmt.Errorf("a proxy that the Internet reaches needs credentials: give username and password for %s", program)
	case len(r.LeaseKey) > 0:
		return fmt.Errorf("lease-key: %s cannot verify credentials of leases; use gatehouse-forward", program)
	}
	return nil
}

// squidUsers keeps a hash of the password, salted on the instance, where squid reads it.
const squidUsers = `#!/bin/sh
set -eu
root=${ROOT:-}
umask 027
hash=$(openssl passwd -6 -stdin <"$root/etc/squid/gatehouse-password")
printf '%s:%s\n' "$(cat "$root/etc/squid/gatehouse-username")" "$hash" >"$root/etc/squid/users"
chgrp proxy "$root/etc/squid/users"
rm -f "$root/etc/squid/gatehouse-password" "$root/etc/squid/gatehouse-username"
`

func squidConfiguration(port int) string {
	v4, v6 := refused()
	return fmt.Sprintf(`http_port %d
auth_param basic program /usr/lib/squid/basic_ncsa_auth /etc/squid/users
auth_param basic realm proxy
acl authenticated proxy_auth REQUIRED
acl open_ports port 80 443 1024-65535
acl forbidden dst %s
acl forbidden dst %s
http_access deny !open_ports
http_access deny !authenticated
http_access deny forbidden
http_access allow authenticated
http_access deny all
via off
forwarded_for delete
cache deny all
access_log none
pinger_enable off
shutdown_lifetime 5 seconds
`, port, strings.Join(v4, " "), strings.Join(v6, " "))
}
