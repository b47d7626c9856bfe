package file

import "path/filepath"

// change is what an event tells of a directory entry.
type change int

const (
	written  change = iota // closed after writing: its content is whole
	arrived                // renamed into place: its content is whole
	touched                // written to, and still open
	created                // made; content will follow, unless it is a link
	removed                // deleted or renamed away
	attribs                // mode or owner changed
	overflow               // events were lost: look at everything
)

// event is one thing that happened to an entry of a watched directory.
type event struct {
	change change
	dir    string
	name   string
	isDir  bool
}

func (e event) path() string { return filepath.Join(e.dir, e.name) }
