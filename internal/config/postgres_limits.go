package config

import "time"

// Limits are what one deployment, or one network of clients (/24, /64), may take; 0 is
// no limit.
type Limits struct {
	PerDeployment, PerNetwork, AuthFailures int
	AuthWindow                              time.Duration
}

func limitsTable(p *postgresGiven) []*setting {
	number := func(to *int) func([]string) error {
		return func(v []string) error { return setNumber(to, v, "a number of connections", 0, maxConnections) }
	}
	return []*setting{
		{Setting{
			Key: "maxConnectionsPerDeployment", Value: "N", Default: "0",
			Usage: "most sessions of one deployment, its pooler counts apart; 0 is no limit",
		}, number(&p.Limits.PerDeployment), false},
		{Setting{
			Key: "maxConnectionsPerNetwork", Value: "N", Default: "0",
			Usage: "most sessions of one network of clients (IPv4 /24, IPv6 /64); 0 is no limit",
		}, number(&p.Limits.PerNetwork), false},
		{Setting{
			Key: "maxAuthFailures", Value: "N", Default: "0",
			Usage: "logins of one network that a deployment may refuse within the window before further ones are not passed on; 0 is no limit",
		}, func(v []string) error {
			return setNumber(&p.Limits.AuthFailures, v, "a number of logins", 0, 1_000_000)
		}, false},
		{Setting{
			Key: "authFailureWindowSeconds", Value: "SECONDS", Default: "60",
			Usage: "window of the limit of refused logins",
		}, func(v []string) error { return setNumber(&p.authWindowSeconds, v, "a number of seconds", 1, 86_400) }, false},
	}
}

// limits fills what depends on other settings.
func (c *postgresCheck) limits() {
	c.Limits.AuthWindow = time.Duration(c.authWindowSeconds) * time.Second
	if c.Limits.AuthFailures == 0 && c.isGiven("authFailureWindowSeconds") {
		c.warn("authFailureWindowSeconds", "has no effect: MAX_AUTH_FAILURES is not set")
	}
}
