// Package credential makes and verifies the user name and password that one lease of
// one forward proxy is used with. A proxy that holds the key verifies them by itself.
//
// The user name is LEASE.EXPIRY, the lease's ID and the second, since 1970, at which it
// ends. The password is the URL-safe base64, without padding, of HMAC-SHA-256 of
// "gatehouse-lease" NUL, the instance's name, NUL, and the user name, under the key of
// the instance: credentials of one instance open no other, also where the key is shared.
package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// MinKey is the least length of a key in bytes.
const MinKey = 32

// Errors of [Verify].
var (
	ErrForm    = errors.New("user name is not LEASE.EXPIRY")
	ErrWrong   = errors.New("wrong password")
	ErrExpired = errors.New("the lease has ended")
)

// Make returns the credentials of a lease that ends at expiry on the named instance.
// The lease's ID has no dot.
func Make(key []byte, instance, lease string, expiry time.Time) (username, password string) {
	username = lease + "." + strconv.FormatInt(expiry.Unix(), 10)
	return username, base64.RawURLEncoding.EncodeToString(sum(key, instance, username))
}

// Verify returns the lease and its end, or one of the errors above. The time it takes
// does not tell how much of a password is right.
func Verify(key []byte, instance, username, password string, now time.Time) (lease string, expiry time.Time, err error) {
	lease, digits, found := strings.Cut(username, ".")
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if !found || lease == "" || err != nil {
		return "", time.Time{}, ErrForm
	}
	given, err := base64.RawURLEncoding.DecodeString(password)
	if err != nil || !hmac.Equal(given, sum(key, instance, username)) {
		return "", time.Time{}, ErrWrong
	}
	expiry = time.Unix(seconds, 0)
	if !now.Before(expiry) {
		return "", time.Time{}, ErrExpired
	}
	return lease, expiry, nil
}

func sum(key []byte, instance, username string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("gatehouse-lease\x00" + instance + "\x00" + username))
	return h.Sum(nil)
}
