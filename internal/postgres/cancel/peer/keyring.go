package peer

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// ReadKeys reads the shared keys in a file, at least one: 32 bytes, or 64 while the key
// is being changed. The first seals, each opens. The error says what is wrong with the
// file and what would be right.
func ReadKeys(path string) ([]Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w; name a file of 32 random bytes", errors.Unwrap(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return nil, fmt.Errorf("can be read or written by everybody (mode %04o); take that away, for example with chmod 0440, or defaultMode of the Secret's volume", mode)
	}
	raw, err := io.ReadAll(io.LimitReader(f, 2*SecretSize+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w; name a file of 32 random bytes", errors.Unwrap(err))
	}
	return parseKeys(raw)
}

func parseKeys(raw []byte) ([]Secret, error) {
	switch {
	case len(raw) > 2*SecretSize:
		return nil, errors.New("has more than 64 bytes; " + rightKeys)
	case len(raw) != SecretSize && len(raw) != 2*SecretSize:
		return nil, fmt.Errorf("has %d bytes; %s", len(raw), rightKeys)
	}
	var out []Secret
	for ; len(raw) > 0; raw = raw[SecretSize:] {
		s, err := NewSecret([SecretSize]byte(raw))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

const rightKeys = "it must have 32 random bytes, as of \"openssl rand 32\", or two such keys in a row while the key is changed"

// keyAge is how long keys are believed before their file is read again.
const keyAge = 2 * time.Second

// Keyring has the keys of a file, and follows it when it changes. Its methods may be
// called from several goroutines.
type Keyring struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	secrets []Secret
	read    time.Time
	wrong   string // what was last said of the file
}

// NewKeyring reads a file as ReadKeys does.
func NewKeyring(path string, log *slog.Logger) (*Keyring, error) {
	secrets, err := ReadKeys(path)
	if err != nil {
		return nil, err
	}
	return &Keyring{path: path, log: log, secrets: secrets, read: time.Now()}, nil
}

// Secrets returns the keys, at least one. They are those that the file had last where it
// has none now.
func (k *Keyring) Secrets() []Secret {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.read) < keyAge {
		return k.secrets
	}
	k.read = time.Now()
	secrets, err := ReadKeys(k.path)
	if err != nil {
		k.complain(err)
		return k.secrets
	}
	k.secrets, k.wrong = secrets, ""
	return secrets
}

// complain says once what is wrong.
func (k *Keyring) complain(err error) {
	if k.wrong != err.Error() {
		k.wrong = err.Error()
		k.log.Warn("the key of cancel peers is kept: its file is not usable", observe.KeyFile, k.path, observe.KeyError, err)
	}
}
