package cloudinit

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Tinyproxy returns a cloud-config that installs tinyproxy with the username and
// password of the request, for scheme http. It cannot judge addresses; the kernel does.
func Tinyproxy(r Request) ([]byte, error) {
	if err := cmp.Or(r.validate(), r.validatePackaged("tinyproxy"), r.validateTinyproxy()); err != nil {
		return nil, err
	}
	return document{
		Packages: []string{"tinyproxy", "nftables"},
		Files: []file{
			text("/etc/tinyproxy/tinyproxy.conf", "0600", tinyproxyConfiguration(r)),
			text("/etc/nftables.conf", "0755", guard("tinyproxy")),
		},
		Commands: [][]string{
			{"chown", "tinyproxy:tinyproxy", "/etc/tinyproxy/tinyproxy.conf"},
			{"systemctl", "enable", "--now", "nftables.service"},
			{"systemctl", "restart", "nftables.service", "tinyproxy.service"},
		},
	}.bytes()
}

// validateTinyproxy refuses what would end a word of its configuration.
func (r Request) validateTinyproxy() error {
	if strings.ContainsFunc(r.Username+r.Password, notWordRune) {
		return errors.New("username or password: tinyproxy takes letters, digits, dots, dashes and underscores only")
	}
	return nil
}

func notWordRune(c rune) bool {
	return notNameRune(c) && (c < 'A' || c > 'Z') && c != '.' && c != '_'
}

func tinyproxyConfiguration(r Request) string {
	return fmt.Sprintf(`User tinyproxy
Group tinyproxy
Port %d
Timeout 600
MaxClients 100
BasicAuth %s %s
DisableViaHeader Yes
ConnectPort 80
ConnectPort 443
`, r.Port, r.Username, r.Password)
}
