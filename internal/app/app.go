// Package app puts the parts together: one file per command. It is the only
// package that knows all of them; it parses nothing and prints nothing.
package app

import (
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// IO is what a command may say and to whom.
type IO struct {
	// Out is for data, Err for everything else.
	Out, Err io.Writer
	// Log is never nil.
	Log *slog.Logger
	// Live shows what a running instance does; it is never nil for Run.
	Live observe.Live
}

// ValidateOptions say what "gatehouse validate" looks at.
type ValidateOptions struct {
	Paths          []string
	BindAddress    netip.Addr
	ControllerName string
	Features       config.Features
	// Against is HOST:PORT of a running instance's admin API: the files are judged as
	// what would be saved there, all of them together. Empty judges them by themselves.
	Against string
	// Deletions are objects that would be deleted there.
	Deletions []Deletion
	// Timeout bounds the verdict of that instance; 0 is 10 s.
	Timeout time.Duration
	// Print is called once with everything found.
	Print func(Report) error
}

// Deletion names an object to be deleted: its kind and "namespace/name", or the name
// alone where the kind has no namespaces.
type Deletion struct{ Kind, Name string }

// Report is the outcome of a validation.
type Report struct {
	Files    int       `json:"files"`   // looked at
	Objects  int       `json:"objects"` // accepted
	Findings []Finding `json:"findings"`
}

// Finding is one thing that is wrong with a file or an object.
type Finding struct {
	File     string `json:"file"`
	Document int    `json:"document,omitempty"` // from 1
	Line     int    `json:"line,omitempty"`     // from 1; 0 when unknown
	Kind     string `json:"kind,omitempty"`     // "HTTPRoute"; empty when it could not be read
	Name     string `json:"name,omitempty"`     // "namespace/name"
	Field    string `json:"field,omitempty"`
	Reason   string `json:"reason"`
	Message  string `json:"message"` // with value and remedy, without field
	// Warning findings have an effect and are worth a look; they fail nothing.
	Warning bool `json:"warning,omitempty"`
}

// TranslateOptions say what "gatehouse translate" makes of what.
type TranslateOptions struct {
	Paths []string
	// To is "model" or "xds".
	To string
	// ShowSecrets leaves keys in; otherwise they are replaced.
	ShowSecrets    bool
	BindAddress    netip.Addr
	ControllerName string
	Features       config.Features
	// Print is called once with a value that encoding/json can marshal.
	Print func(any) error
	// Finding is called for each input that was left out.
	Finding func(Finding)
}
