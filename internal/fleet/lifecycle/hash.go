package lifecycle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
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
	var small [1024]byte
	e := encoder{buf: small[:0]}
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
	return sum(e.buf, r.UserData)
}

// sum hashes the encoding and then user data, which is the long part: it is not copied.
func sum(encoded, data []byte) string {
	h := sha256.New()
	h.Write(encoded)
	h.Write(data)
	var digest [sha256.Size]byte
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], h.Sum(digest[:0]))
	return string(text[:])
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
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(config)), func(key string) bool { return slices.Contains(accountKeys, key) })
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
