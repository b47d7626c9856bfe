package config

func adminTable(p *postgresGiven) []*setting {
	return []*setting{
		{Setting{
			Key: "adminAddress", Value: "HOST:PORT", Default: "127.0.0.1:19020",
			Usage: "where /routes is answered, which shows servers' addresses; port 0 takes any free port",
		}, func(v []string) error { return setHostPort(&p.AdminAddress, v) }, false},
	}
}

// admin tells whether the address was asked for.
func (c *postgresCheck) admin() { c.AdminGiven = c.isGiven("adminAddress") }
