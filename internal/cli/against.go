package cli

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/app"
)

// running are the flags about an instance that a change would be made in.
type running struct {
	against   string
	deletions []string
	timeout   time.Duration
}

func againstFlags(cmd *cobra.Command) *running {
	r := new(running)
	cmd.Flags().StringVar(&r.against, "against", "", "`URL` of a running instance's admin API, to check a change before it is saved there")
	cmd.Flags().StringArrayVar(&r.deletions, "delete", nil, "`KIND/NAME` of an object that the change deletes, with --against; may be repeated")
	cmd.Flags().DurationVar(&r.timeout, "timeout", 10*time.Second, "`DURATION` to wait for the verdict, with --against")
	return r
}

// read returns HOST:PORT of the instance, empty without one, and what would be deleted.
func (r *running) read() (address string, deletions []app.Deletion, err error) {
	if r.against == "" && len(r.deletions) > 0 {
		return "", nil, fmt.Errorf("--delete says what would go from a running instance; add --against URL")
	}
	if r.against != "" {
		if address, err = addressOf(r.against); err != nil {
			return "", nil, err
		}
	}
	for _, text := range r.deletions {
		t, err := parseTarget([]string{text})
		if err != nil || t.name == "" {
			return "", nil, fmt.Errorf("--delete %q names no object; write KIND/NAMESPACE/NAME, for example httproute/shop/checkout", text)
		}
		kind, known := admin.ResolveKind(t.kind)
		if !known {
			return "", nil, unknownKind(t.kind)
		}
		if !kind.ClusterScoped && !strings.Contains(t.name, "/") {
			t.name = "default/" + t.name
		}
		deletions = append(deletions, app.Deletion{Kind: t.kind, Name: t.name})
	}
	return address, deletions, nil
}

// addressOf takes an http URL, or HOST:PORT.
func addressOf(text string) (string, error) {
	address := text
	if u, err := url.Parse(text); err == nil && u.Scheme == "http" && (u.Path == "" || u.Path == "/") {
		address = u.Host
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", fmt.Errorf("--against %q is no admin API; write for example http://127.0.0.1:19000, as 'gatehouse run' shows it", text)
	}
	return address, nil
}
