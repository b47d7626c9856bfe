package config

import (
	"os"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Validator is one auxiliary validator: a program or a service that judges what proxies would get.
type Validator struct {
	// Name is a DNS label and the only one of its kind.
	Name string
	// Command is the absolute path of the program, and its arguments; none where there is
	// an Address.
	Command []string
	// Address of a gRPC service on this machine: unix:///PATH or HOST:PORT.
	Address string
	// Timeout bounds one verdict; 10ms to 30s, 5s by default.
	Timeout time.Duration
	// Types are the types that it judges; all but endpoints by default.
	Types []xdsserve.Type
	// Secrets lets it see private keys.
	Secrets bool
	// Required lets changes wait while it is unavailable; they pass otherwise.
	Required bool
}

// Bounds of a verdict. The most is below what any validator is waited for.
const (
	leastVerdict   = 10 * time.Millisecond
	mostVerdict    = 30 * time.Second
	defaultVerdict = 5 * time.Second
)

// maxValidators bounds how many validators every change is judged by.
const maxValidators = 16

// readValidators reads the file of validators, if there is one, and returns all that
// is wrong with it.
func (l *Loaded) readValidators() []error {
	path := l.Run.ValidatorsFile
	if path == "" {
		return nil
	}
	fail := func(from, problem string) []error { return []error{&Error{From: from, Problem: problem}} }
	text, err := readLimited(path)
	if err != nil {
		return []error{&Error{From: l.from("validators", "--validators"), Field: "validators", Value: path, Problem: err.Error()}}
	}
	doc, err := parse(text)
	if err != nil {
		return fail(path, err.Error())
	}
	if len(doc.Content) == 0 {
		return fail(path, "names no validator; list them, each with a name and a command, or leave --validators out")
	}
	r := validatorReader{path: path}
	l.Run.Validators = r.list(doc.Content[0])
	return r.errs
}

// checkProgram returns what is wrong with the path of a program, if anything.
func checkProgram(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "does not exist; give the path of a program, absolute or relative to this file"
	case !info.Mode().IsRegular():
		return "is no regular file; give the path of a program"
	case info.Mode()&0o111 == 0:
		return "is not executable; run chmod +x on it"
	}
	return ""
}
