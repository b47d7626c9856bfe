package command

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// files are the candidate as a program sees it: a directory with one file for each
// resource, and one file that says what differs from what the program accepted last.
// Only what differs is written.
type files struct {
	dir    string
	render func(xdsserve.Resource) (json.RawMessage, error)
	// known tells that the directory holds what was accepted last; if not, it is written anew.
	known bool
}

// resource is the content of a file.
type resource struct {
	Type    string          `json:"type"` // "RouteConfiguration"
	Name    string          `json:"name"`
	Group   string          `json:"group,omitempty"` // the Gateway, "namespace/name"; none is all
	Version string          `json:"version"`
	Origins []string        `json:"origins"` // "Kind namespace/name" of the objects it was made from
	Body    json.RawMessage `json:"body"`    // the message in Envoy's own JSON form
}

// difference is the content of the file of what differs.
type difference struct {
	Set     []string  `json:"set"` // paths below the candidate's directory
	Removed []removed `json:"removed"`
}

type removed struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Group string `json:"group,omitempty"`
}

func newFiles(dir string, render func(xdsserve.Resource) (json.RawMessage, error)) *files {
	return &files{dir: dir, render: render}
}

func (f *files) candidate() string { return filepath.Join(f.dir, "candidate") }
func (f *files) delta() string     { return filepath.Join(f.dir, "delta.json") }

// apply makes the directory hold the candidate.
func (f *files) apply(c validator.Candidate) error {
	known := f.known
	f.known = false
	if !known || !f.there() || f.change(c.Delta) != nil {
		if err := f.anew(c.All); err != nil {
			return err
		}
	}
	err := f.tell(c.Delta)
	f.known = err == nil
	return err
}

// undo makes the directory hold again what it held before the candidate.
func (f *files) undo(c validator.Candidate) { f.known = f.change(c.Inverse) == nil }

// there reports whether the directory is still there; others may have cleared it away.
func (f *files) there() bool {
	for _, t := range xdsserve.Types() {
		if _, err := os.Stat(filepath.Join(f.candidate(), t.Short())); err != nil {
			return false
		}
	}
	return true
}

// anew writes everything.
func (f *files) anew(all iter.Seq[xdsserve.Resource]) error {
	if err := errors.Join(os.RemoveAll(f.dir), os.MkdirAll(f.dir, 0o700)); err != nil {
		return err
	}
	for _, t := range xdsserve.Types() {
		if err := os.MkdirAll(filepath.Join(f.candidate(), t.Short()), 0o700); err != nil {
			return err
		}
	}
	for r := range all {
		if err := f.write(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *files) change(u xdsserve.Update) error {
	for _, r := range u.Set {
		if err := f.write(r); err != nil {
			return err
		}
	}
	for _, s := range u.Remove {
		if err := os.Remove(filepath.Join(f.candidate(), path(s))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *files) write(r xdsserve.Resource) error {
	body, err := f.render(r)
	if err != nil {
		return err
	}
	text, err := json.Marshal(resource{r.Type.Short(), r.Name.Name, r.Group, r.Version, r.Origins, body})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.candidate(), path(xdsserve.Scoped{Group: r.Group, Name: r.Name})), text, 0o600)
}

// tell writes what differs.
func (f *files) tell(u xdsserve.Update) error {
	d := difference{Set: []string{}, Removed: []removed{}}
	for _, r := range u.Set {
		d.Set = append(d.Set, path(xdsserve.Scoped{Group: r.Group, Name: r.Name}))
	}
	for _, s := range u.Remove {
		d.Removed = append(d.Removed, removed{s.Type.Short(), s.Name.Name, s.Group})
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return os.WriteFile(f.delta(), text, 0o600)
}

// path is the file of a resource below the candidate's directory. Names hold
// characters that file names cannot, so they are hashed.
func path(s xdsserve.Scoped) string {
	sum := sha256.Sum256([]byte(s.Group + "\x00" + s.Name.Name))
	return filepath.Join(s.Type.Short(), hex.EncodeToString(sum[:16])+".json")
}
