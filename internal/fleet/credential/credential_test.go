package credential

import (
	"errors"
	"testing"
	"time"
)

func TestCredentialsOpenOneInstanceUntilTheyEnd(t *testing.T) {
	key, now := make([]byte, MinKey), time.Unix(1_800_000_000, 0)
	user, password := Make(key, "px-1", "abc", now.Add(time.Minute))
	for name, c := range map[string]struct {
		key                      []byte
		instance, user, password string
		now                      time.Time
		want                     error
	}{
		"right":          {key, "px-1", user, password, now, nil},
		"other instance": {key, "px-2", user, password, now, ErrWrong},
		"other key":      {append([]byte{1}, key...), "px-1", user, password, now, ErrWrong},
		"longer":         {key, "px-1", "abc.1900000000", password, now, ErrWrong},
		"no expiry":      {key, "px-1", "abc", password, now, ErrForm},
		"no password":    {key, "px-1", user, "", now, ErrWrong},
		"ended":          {key, "px-1", user, password, now.Add(time.Minute), ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			lease, expiry, err := Verify(c.key, c.instance, c.user, c.password, c.now)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if err == nil && (lease != "abc" || !expiry.Equal(now.Add(time.Minute))) {
				t.Errorf("lease %q until %s", lease, expiry)
			}
		})
	}
}
