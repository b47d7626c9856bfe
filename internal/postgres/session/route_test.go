package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// deployments are the names of those that there are.
type deployments []string

func (d deployments) Known(name string) (string, bool) {
	if slices.Contains(d, name) {
		return name, true
	}
	for _, n := range d {
		if strings.EqualFold(n, name) {
			return n, true
		}
	}
	return "", false
}

// startup returns parameters given as names and values in turn.
func startup(pairs ...string) pgwire.Parameters {
	var p pgwire.Parameters
	for pair := range slices.Chunk(pairs, 2) {
		p.Set(pair[0], pair[1])
	}
	return p
}

// shown writes parameters as "name=value" with commas.
func shown(p pgwire.Parameters) string {
	var parts []string
	for name, value := range p.All() {
		parts = append(parts, name+"="+value)
	}
	return strings.Join(parts, ",")
}

const suffix = "db.example"

func TestDecide(t *testing.T) {
	known := deployments{"orders", "Billing", "pool"}
	for _, c := range []struct {
		name, sni  string
		parameters []string
		want       session.Route // without Parameters
		sent       string
	}{
		{
			name: "login", parameters: []string{"user", "bob.orders", "database", "shop", "x", "y"},
			want: session.Route{Deployment: "orders", Source: session.FromLogin, User: "bob", Renamed: true},
			sent: "user=bob,database=shop,x=y",
		},
		{
			name: "psql puts the login into database", parameters: []string{"user", "bob.orders.pool", "database", "bob.orders.pool"},
			want: session.Route{Deployment: "orders", Pooled: true, Source: session.FromLogin, User: "bob", Renamed: true},
			sent: "user=bob,database=postgres",
		},
		{
			name: "no database, order kept", parameters: []string{"application_name", "a", "user", "bob.orders", "_pq_.z", "1"},
			want: session.Route{Deployment: "orders", Source: session.FromLogin, User: "bob", Renamed: true},
			sent: "application_name=a,user=bob,_pq_.z=1,database=postgres",
		},
		{
			name: "database like the bare user stays", parameters: []string{"user", "bob.orders", "database", "bob"},
			want: session.Route{Deployment: "orders", Source: session.FromLogin, User: "bob", Renamed: true},
			sent: "user=bob,database=bob",
		},
		{
			name: "an unknown deployment is for the resolver to refuse", parameters: []string{"user", "bob.nowhere"},
			want: session.Route{Deployment: "nowhere", Source: session.FromLogin, User: "bob", Renamed: true},
			sent: "user=bob,database=postgres",
		},
		{
			name: "options", parameters: []string{"user", "bob", "options", "-c gatehouse.deployment=orders -c gatehouse.pooled=on -c geqo=off"},
			want: session.Route{Deployment: "orders", Pooled: true, Source: session.FromOptions, User: "bob"},
			sent: "user=bob,options=-c geqo=off,database=postgres",
		},
		{
			name: "options with nothing else", parameters: []string{"user", "bob", "options", "--gatehouse.deployment=orders", "database", "d"},
			want: session.Route{Deployment: "orders", Source: session.FromOptions, User: "bob"},
			sent: "user=bob,database=d",
		},
		{
			name: "options and the same suffix", parameters: []string{"user", "a.bob.orders.pool", "options", "-c gatehouse.deployment=orders", "database", "d"},
			want: session.Route{Deployment: "orders", Pooled: true, Source: session.FromOptions, User: "a.bob", Renamed: true},
			sent: "user=a.bob,database=d",
		},
		{
			name: "options and a dotted user name", parameters: []string{"user", "bob.smith", "options", "-c gatehouse.deployment=orders", "database", "d"},
			want: session.Route{Deployment: "orders", Source: session.FromOptions, User: "bob.smith"},
			sent: "user=bob.smith,database=d",
		},
		{
			name: "options ask for the pool of the login's deployment", parameters: []string{"user", "bob.orders", "options", "-c gatehouse.pooled=on", "database", "d"},
			want: session.Route{Deployment: "orders", Pooled: true, Source: session.FromLogin, User: "bob", Renamed: true},
			sent: "user=bob,database=d",
		},
		{
			name: "SNI, without case", sni: "BILLING.DB.Example", parameters: []string{"user", "bob", "database", "bob"},
			want: session.Route{Deployment: "Billing", Source: session.FromSNI, User: "bob"},
			sent: "user=bob,database=postgres",
		},
		{
			name: "SNI with pool", sni: "orders.pool.db.example", parameters: []string{"user", ".odd", "database", "d"},
			want: session.Route{Deployment: "orders", Pooled: true, Source: session.FromSNI, User: ".odd"},
			sent: "user=.odd,database=d",
		},
		{
			name: "SNI of another name routes nothing", sni: "orders.elsewhere.example", parameters: []string{"user", "bob.orders", "database", "d"},
			want: session.Route{Deployment: "orders", Source: session.FromLogin, User: "bob", Renamed: true},
			sent: "user=bob,database=d",
		},
		{
			name: "all three agree", sni: "orders.db.example", parameters: []string{"user", "bob.orders", "options", "-c gatehouse.deployment=orders", "database", "d"},
			want: session.Route{Deployment: "orders", Source: session.FromSNI, User: "bob", Renamed: true},
			sent: "user=bob,database=d",
		},
		{
			name: "parameters named like our words are inert", parameters: []string{"user", "bob.orders", "deployment_id", "billing", "pooled", "true", "database", "d"},
			want: session.Route{Deployment: "orders", Source: session.FromLogin, User: "bob", Renamed: true},
			sent: "user=bob,deployment_id=billing,pooled=true,database=d",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := session.Decide(startup(c.parameters...), c.sni, suffix, known)
			if err != nil {
				t.Fatal(err)
			}
			if sent := shown(got.Parameters); sent != c.sent {
				t.Errorf("sent %s, want %s", sent, c.sent)
			}
			got.Parameters = pgwire.Parameters{}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestDecideRefuses(t *testing.T) {
	known := deployments{"orders", "billing"}
	for want, c := range map[string]struct {
		sni        string
		parameters []string
	}{
		`login "bob" names no deployment`:                     {"", []string{"user", "bob"}},
		`no user name in the startup message`:                 {"", []string{"database", "d"}},
		`login ".orders" names no user or no deployment`:      {"", []string{"user", ".orders"}},
		`options and SNI name different deployments`:          {"orders.db.example", []string{"user", "bob", "options", "-c gatehouse.deployment=billing"}},
		`login "bob.billing" and SNI name different`:          {"orders.db.example", []string{"user", "bob.billing"}},
		`login "bob.orders" and options name different`:       {"", []string{"user", "bob.orders", "options", "-c gatehouse.deployment=billing"}},
		`login "bob.orders.pool" and options differ ab`:       {"", []string{"user", "bob.orders.pool", "options", "-c gatehouse.pooled=off"}},
		`option gatehouse.pooled has "onn", which is no bool`: {"", []string{"user", "bob.orders", "options", "-c gatehouse.pooled=onn"}},
		`login "bob.orders.pool" and SNI differ about the po`: {"orders.db.example", []string{"user", "bob.orders.pool"}},
	} {
		_, err := session.Decide(startup(c.parameters...), c.sni, suffix, known)
		refusal, ok := errors.AsType[*session.RefusalError](err)
		if !ok || !strings.HasPrefix(refusal.Message, want) || refusal.SQLSTATE != session.InvalidAuthorization || refusal.Hint == "" {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
