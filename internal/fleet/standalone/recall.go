package standalone

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone/state"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// recall gives the source back what an earlier run had accepted, so that a document
// that was spoilt meanwhile keeps its Proxy. Secrets are not kept between runs: while
// one cannot be read, no instance that needs it is made, and none is replaced.
type recall struct {
	store *state.Store
	dir   string // that the files of records are relative to
}

func (r recall) record(key store.Key) *state.Record {
	if key.Collection != "Proxy" {
		return nil
	}
	record := r.store.Record(nameOf(key))
	if record == nil || record.Proxy.DeletionTimestamp != nil {
		return nil
	}
	return record
}

// Revision is not validated anew: it was valid, and what became invalid by a stricter
// definition still has an instance.
func (r recall) Revision(key store.Key) (schema.Object, bool) {
	record := r.record(key)
	if record == nil {
		return schema.Object{}, false
	}
	spec, _ := json.Marshal(record.Proxy.Spec) // it was read from JSON
	sum := sha256.Sum256(spec)
	hash := hex.EncodeToString(sum[:])
	return schema.Object{Key: key, Value: record.Proxy, Content: hash, Spec: hash}, true
}

// File is where an object came from.
func (r recall) File(key store.Key) string {
	if record := r.record(key); record != nil {
		return filepath.Join(r.dir, record.File)
	}
	return ""
}

// In returns the objects that came from files of which in is true, in order.
func (r recall) In(in func(file string) bool) (out []store.Key) {
	for _, record := range r.store.Records() {
		if record.Proxy.DeletionTimestamp == nil && in(filepath.Join(r.dir, record.File)) {
			out = append(out, store.Key{Collection: "Proxy", Name: record.Proxy.Namespace + "/" + record.Proxy.Name})
		}
	}
	return out
}
