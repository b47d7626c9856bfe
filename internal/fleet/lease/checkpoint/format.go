package checkpoint

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// What is wrong with content that cannot be read.
var (
	ErrForeign = errors.New("it is no checkpoint of leases")
	ErrNewer   = errors.New("a newer version wrote it")
	ErrDamaged = errors.New("it is damaged")
	ErrTooLong = errors.New("there are too many leases and cooldowns for where they are to be kept")
)

// A checkpoint is a line, with magic, version and the SHA-256 of what follows in
// hexadecimal, and JSON. It may be compressed by gzip.
const (
	magic   = "gatehouse-leases"
	version = 1
	// longest bounds what is decompressed.
	longest = 512 << 20
)

// Encode returns a checkpoint of a state.
func Encode(state lease.State) ([]byte, error) {
	body, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	head := fmt.Sprintf("%s %d %s\n", magic, version, hex.EncodeToString(sum[:]))
	return append([]byte(head), body...), nil
}

// Decode returns the state of a checkpoint: [ErrForeign], [ErrNewer], [ErrDamaged].
func Decode(content []byte) (state lease.State, err error) {
	if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		if content, err = decompress(content); err != nil {
			return state, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	head, body, _ := bytes.Cut(content, []byte("\n"))
	fields := strings.Split(string(head[:min(len(head), 256)]), " ")
	if len(fields) < 2 || fields[0] != magic {
		return state, ErrForeign
	}
	if n, err := strconv.Atoi(fields[1]); err != nil || n != version {
		if err == nil && n > version {
			return state, fmt.Errorf("%w: its format is %d, this one reads %d", ErrNewer, n, version)
		}
		return state, ErrForeign
	}
	sum := sha256.Sum256(body)
	if len(fields) != 3 || fields[2] != hex.EncodeToString(sum[:]) {
		return state, fmt.Errorf("%w: its content has another checksum", ErrDamaged)
	}
	if err := json.Unmarshal(body, &state); err != nil {
		return state, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return state, nil
}

// Fit encodes a state so that it is not longer than most bytes; 0 is any length. Of the
// leases that ended the earlier ones are left out where there is no room. [ErrTooLong]
// if there is none for the others.
func Fit(state lease.State, most int) ([]byte, error) {
	active := 0
	for active < len(state.Leases) && state.Leases[active].Active {
		active++
	}
	ended := state.Leases[active:]
	for {
		state.Leases = append(state.Leases[:active:active], ended...)
		content, err := Encode(state)
		if err != nil || most == 0 {
			return content, err
		}
		if content, err = compress(content); err != nil || len(content) <= most {
			return content, err
		}
		if len(ended) == 0 {
			return nil, fmt.Errorf("%w: %d leases and %d cooldowns take %d bytes, at most %d: use --lease-store redis://HOST",
				ErrTooLong, active, len(state.Cooldowns), len(content), most)
		}
		ended = ended[len(ended)-len(ended)/2:]
	}
}

func compress(content []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(content)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

func decompress(content []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(z, longest+1))
	if err == nil && len(plain) > longest {
		err = fmt.Errorf("it has more than %d bytes", longest)
	}
	return plain, errors.Join(err, z.Close())
}
