package retain

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Revision is an accepted revision of an object, and what a later process has to know
// of it. Without an Object there is none any more.
type Revision struct {
	Key    store.Key
	Object snapshot.Object
	// File is where the object was read from.
	File string
	// Accepted is when it was accepted; Rejected, since when a later revision is
	// rejected, zero if none is.
	Accepted, Rejected time.Time
}

// about is what a record says beside the object, which follows it.
type about struct {
	Accepted   int64  `json:"accepted"` // Unix seconds, as the next
	Rejected   int64  `json:"rejected,omitzero"`
	Generation int64  `json:"generation,omitzero"`
	File       string `json:"file,omitzero"`
}

// encode writes a record: two JSON values in one line.
func encode(a about, object []byte) ([]byte, error) {
	first, err := json.Marshal(a)
	return append(first, object...), err
}

// split undoes encode.
func split(record []byte) (a about, object []byte, err error) {
	d := json.NewDecoder(bytes.NewReader(record))
	if err := d.Decode(&a); err != nil {
		return about{}, nil, err
	}
	return a, record[d.InputOffset():], nil
}

// decode validates what was kept as if it stood in a file now.
func decode(v *schema.Validator, key store.Key, record []byte) (schema.Object, error) {
	a, text, err := split(record)
	if err != nil {
		return schema.Object{}, err
	}
	objects := v.Decode(schema.Document{Text: text, Number: 1, Line: 1}, nil)
	if len(objects) != 1 || objects[0].Key != key {
		return schema.Object{}, errors.New("the record is of another object")
	}
	if out := objects[0]; out.Value != nil {
		out.Value.SetGeneration(a.Generation)
		return out, nil
	}
	p := objects[0].Problems[0]
	return schema.Object{}, errors.New(p.Field + ": " + p.Message)
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func timeOf(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
