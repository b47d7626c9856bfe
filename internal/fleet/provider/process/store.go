package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// store is the directory. An instance is a folder of instances, which appears complete
// and disappears at once: it is made in, and moved to, the folder scrap, whose content
// means nothing.
type store struct {
	dir string
	// owner is the user that the processes of instances are of; 0 for whoever starts them.
	owner int
}

const (
	recordFile = "instance.json"
	logFile    = "log"
	authFolder = "auth"

	certificateFile = "tls.crt" // in authFolder, as the next
	keyFile         = "tls.key"
)

var isName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`).MatchString

func (s store) lockFile() string          { return filepath.Join(s.dir, "lock") }
func (s store) instances() string         { return filepath.Join(s.dir, "instances") }
func (s store) scrap() string             { return filepath.Join(s.dir, "scrap") }
func (s store) folder(name string) string { return filepath.Join(s.instances(), name) }
func (s store) record(name string) string { return filepath.Join(s.folder(name), recordFile) }
func (s store) log(name string) string    { return filepath.Join(s.folder(name), logFile) }

// make makes the directory, which only its owner can look into.
func (s store) make() error {
	if err := os.MkdirAll(s.instances(), 0o700); err != nil {
		return err
	}
	return os.MkdirAll(s.scrap(), 0o700)
}

// read returns an instance; [provider.ErrNotFound] if there is none of that name.
func (s store) read(name string) (*instance, error) {
	if !isName(name) {
		return nil, notFound(name)
	}
	text, err := os.ReadFile(s.record(name))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(s.folder(name)); err == nil {
			return nil, fmt.Errorf("%w: the folder %s is not of an instance: remove it", provider.ErrPermanent, s.folder(name))
		}
		return nil, notFound(name)
	}
	i := new(instance)
	if err == nil {
		err = json.Unmarshal(text, i)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: what is known of %s cannot be read: %w; repair %s, or remove its folder", provider.ErrTransient, name, err, s.record(name))
	}
	return i, nil
}

// names are those of all instances, and of folders that are none.
func (s store) names() ([]string, error) {
	entries, err := os.ReadDir(s.instances())
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// all returns every instance, and those that could not be read.
func (s store) all() (all []*instance, unseen *partial, err error) {
	names, err := s.names()
	unseen = new(partial)
	for _, name := range names {
		i, err := s.read(name)
		switch {
		case err == nil:
			all = append(all, i)
		case !errors.Is(err, provider.ErrPermanent) && !errors.Is(err, provider.ErrNotFound):
			unseen.add(name, err)
		}
	}
	return all, unseen, err
}

// partial collects what a list lacks.
type partial struct{ provider.PartialError }

func (p *partial) add(name string, err error) {
	if err != nil {
		p.Scopes, p.Err = append(p.Scopes, name), err
	}
}

func (p *partial) error() error {
	if len(p.Scopes) == 0 {
		return nil
	}
	return &p.PartialError
}

// add makes the folder of a new instance. What cannot be completed is removed at once:
// it holds credentials, and a disk that is full would be filled further by each attempt.
func (s store) add(i *instance, c provider.Credentials) (err error) {
	folder, err := os.MkdirTemp(s.scrap(), "new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(folder)
		}
	}()
	auth := filepath.Join(folder, authFolder)
	if err := os.Mkdir(auth, 0o700); err != nil {
		return err
	}
	if err := s.give(auth); err != nil {
		return err
	}
	for name, secret := range map[string]string{
		"username": c.Username, "password": c.Password, "lease-key": string(c.LeaseKey),
		certificateFile: string(c.TLSCert), keyFile: string(c.TLSKey),
	} {
		if secret == "" {
			continue
		}
		path := filepath.Join(auth, name)
		if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
			return err
		}
		if err := s.give(path); err != nil {
			return err
		}
	}
	if err := save(filepath.Join(folder, recordFile), i); err != nil {
		return err
	}
	return os.Rename(folder, s.folder(i.Name))
}

// give makes a file that of the process which is to read it.
func (s store) give(path string) error {
	if s.owner == 0 {
		return nil
	}
	return os.Chown(path, s.owner, s.owner)
}

// write replaces what is kept of an instance.
func (s store) write(i *instance) error {
	return save(s.record(i.Name), i)
}

// save replaces a file: whoever reads it sees the old content or the new.
func save(path string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	next, err := os.OpenFile(path+".next", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer next.Close()
	if _, err := next.Write(text); err != nil {
		return err
	}
	if err := next.Sync(); err != nil {
		return err
	}
	return os.Rename(next.Name(), path)
}

// remove removes the folder of an instance.
func (s store) remove(name string) error {
	return os.Rename(s.folder(name), filepath.Join(s.scrap(), "old-"+name+"-"+random()))
}

// empty removes what means nothing.
func (s store) empty() error {
	entries, err := os.ReadDir(s.scrap())
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(s.scrap(), e.Name())); err != nil {
			return err
		}
	}
	return err
}

// lastWords is the last line that a process wrote.
func (s store) lastWords(name string) string {
	const most = 200
	text, _ := os.ReadFile(s.log(name))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := strings.ToValidUTF8(lines[len(lines)-1], "?")
	if last == "" {
		return ""
	}
	return "it last said " + strconv.Quote(last[:min(len(last), most)])
}
