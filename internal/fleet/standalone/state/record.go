package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// Record is what is kept of one Proxy. It is never changed once it is stored.
type Record struct {
	// Proxy is the object as an API server would hold it.
	Proxy *egress_v1alpha1.Proxy `json:"proxy"`
	// Written are the annotations that PatchMetadata wrote; the others are of the document.
	Written map[string]string `json:"written,omitempty"`
	// File and Line say where the document was last accepted; File is relative to the
	// directory of documents.
	File string `json:"file"`
	Line int    `json:"line"`
}

// format is the version of what is written here.
const format = 1

// envelope is a file: a value, and what tells that it is whole.
type envelope struct {
	Format int             `json:"format"`
	Sum    string          `json:"sha256"` // of the bytes of Value
	Value  json.RawMessage `json:"value"`
}

var (
	errDamaged = errors.New("it is damaged")
	errNewer   = errors.New("it was written by a newer Gatehouse")
)

// seal returns the content of a file.
func seal(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return json.Marshal(envelope{Format: format, Sum: hex.EncodeToString(sum[:]), Value: raw})
}

// unseal undoes seal; errDamaged or errNewer.
func unseal(content []byte, value any) error {
	var e envelope
	if err := json.Unmarshal(content, &e); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if e.Format > format {
		return errNewer
	}
	sum := sha256.Sum256(e.Value)
	if e.Format < 1 || e.Sum != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("%w: its checksum is another", errDamaged)
	}
	if err := json.Unmarshal(e.Value, value); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}
