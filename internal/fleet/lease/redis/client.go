package redis

import (
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Spans of a call. It ends by the first whatever happens.
const (
	callTimeout = 2 * time.Second
	dialTimeout = time.Second
)

// dial returns a client, which connects when it is used. What is to be tried again is
// decided here, not by it: it does not know what may be done twice.
func dial(a address) goredis.UniversalClient {
	logging.Disable() // what it would say is in the errors that it returns
	o := goredis.UniversalOptions{
		Addrs: a.hosts, MasterName: a.sentinel, IsClusterMode: a.cluster, DB: a.db, TLSConfig: a.tls,
		Username: a.user, Password: a.password,
		ClientName: "gatehouse", DisableIdentity: true, Protocol: 2,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: dialTimeout, ReadTimeout: callTimeout, WriteTimeout: callTimeout,
		ContextTimeoutEnabled: true, PoolTimeout: callTimeout, PoolSize: 64, MaxIdleConns: 32,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if a.passwordFile != "" {
		o.CredentialsProvider = func() (user, password string) {
			password, _ = readPassword(a.passwordFile) // the server says what is wrong with it
			return a.user, password
		}
	}
	return goredis.NewUniversalClient(&o)
}
