package lifecycle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// hashVersion begins every encoding. Raising it replaces every instance of every fleet.
const hashVersion = "gatehouse-proxy-1"

// accountKeys of a provider's config are how to get in, not what an instance is like:
// they are rotated without replacing anything.
var accountKeys = []string{"credentials.json", "token"}

// Hash returns the SHA-256, in 64 hexadecimal digits, of all that an instance is made
// from: what r says, apart from the names and labels that come from the Proxy's
// identity, and the provider's name.
//
// The encoding is unambiguous: each value is preceded by its length, and a map by its
// number of keys, which are sorted.
func Hash(r *provider.CreateRequest, providerName string) string {
	h := sha256.New()
	h.Write(encode(r, providerName))
	h.Write(r.UserData) // the long part is not copied
	var digest [sha256.Size]byte
	return hex.EncodeToString(h.Sum(digest[:0]))
}

// encode returns what is hashed before the user data, whose length is its end.
func encode(r *provider.CreateRequest, providerName string) []byte {
	e := encoder{make([]byte, 0, size(r))}
	for _, text := range [...]string{hashVersion, providerName, r.Zone, r.MachineType, r.Image, r.Network, r.Subnetwork, r.Scheme, r.Credentials.Username, r.Credentials.Password} {
		e.text(text)
	}
	e.number(uint64(r.Port)) //nolint:gosec // a port is not negative
	e.number(uint64(flags(r.Spot, r.ExternalIP)))
	for _, data := range [...][]byte{r.Credentials.LeaseKey, r.Credentials.TLSCert, r.Credentials.TLSKey} {
		e.bytes(data)
	}
	e.config(r.Config)
	e.number(uint64(len(r.UserData)))
	return e.buf
}

// size is at least that of the encoding, unless its texts are unusually long.
func size(r *provider.CreateRequest) int {
	n := 1024 + len(r.Credentials.LeaseKey) + len(r.Credentials.TLSCert) + len(r.Credentials.TLSKey)
	for key, value := range r.Config {
		n += 16 + len(key) + len(value)
	}
	return n
}

type encoder struct{ buf []byte }

func (e *encoder) number(n uint64) { e.buf = binary.BigEndian.AppendUint64(e.buf, n) }

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) bytes(b []byte) {
	e.number(uint64(len(b)))
	e.buf = append(e.buf, b...)
}

func (e *encoder) config(config map[string][]byte) {
	keys := make([]string, 0, len(config))
	for key := range config {
		if !slices.Contains(accountKeys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	e.number(uint64(len(keys)))
	for _, key := range keys {
		e.text(key)
		e.bytes(config[key])
	}
}

func flags(bits ...bool) (n int) {
	for i, bit := range bits {
		if bit {
			n |= 1 << i
		}
	}
	return n
}
