package state

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// Store is an open state directory. It is safe for concurrent use.
type Store struct {
	dir     string
	cluster string
	disk    disk
	now     func() time.Time
	held    *os.File

	writing [64]sync.Mutex // by key: one change of a Proxy at a time
	seed    maphash.Seed
	changed func(types.NamespacedName) // after each change

	mu      sync.RWMutex
	records map[types.NamespacedName]*Record
}

// clusterFile is the content of cluster.json.
type clusterFile struct {
	Cluster string `json:"cluster"`
}

// maxRecord is more than any record takes, in bytes.
const maxRecord = 8 << 20

// Open makes a directory this process's, makes it if it does not exist, and reads it.
// Errors say what is wrong with which file, and what to do. Close gives it up.
func Open(ctx context.Context, dir string, now func() time.Time) (*Store, error) {
	return open(ctx, dir, now, realDisk{}, lockTimeout)
}

func open(ctx context.Context, dir string, now func() time.Time, d disk, timeout time.Duration) (*Store, error) {
	s := &Store{
		dir: dir, disk: d, now: now, seed: maphash.MakeSeed(), records: map[types.NamespacedName]*Record{},
		changed: func(types.NamespacedName) {},
	}
	if err := os.MkdirAll(filepath.Join(dir, "proxies"), 0o700); err != nil {
		return nil, fmt.Errorf("state directory %q cannot be made: %w; choose another with --state-dir", dir, err)
	}
	var err error
	if s.held, err = lock(ctx, dir, timeout); err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened {
			_ = s.Close()
		}
	}()
	if err := s.load(); err != nil {
		return nil, err
	}
	opened = true
	return s, nil
}

// Watch has changed called after each change of a Proxy, in the goroutine that made it.
// It is called before anything changes.
func (s *Store) Watch(changed func(types.NamespacedName)) { s.changed = changed }

// Close gives the directory up to the next process. What is stored stays.
func (s *Store) Close() error { return s.held.Close() }

// Cluster is the label of the instances of this directory's Proxies: a UUID.
func (s *Store) Cluster() string { return s.cluster }

// load reads everything that is there.
func (s *Store) load() error {
	for _, dir := range []string{s.dir, s.path("")} {
		if err := clean(dir); err != nil {
			return fmt.Errorf("state directory %q: %w", s.dir, err)
		}
	}
	entries, err := os.ReadDir(s.path(""))
	if err != nil {
		return fmt.Errorf("state directory %q: %w", s.dir, err)
	}
	var errs []error
	for _, e := range entries {
		if uid, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			errs = append(errs, s.loadRecord(uid))
		}
	}
	if err := errors.Join(few(errs)...); err != nil {
		return err
	}
	return s.loadCluster()
}

// maxErrors is how many damaged files are told of.
const maxErrors = 5

func few(errs []error) (out []error) {
	for _, err := range errs {
		if err != nil {
			out = append(out, err)
		}
	}
	if more := len(out) - maxErrors; more > 0 {
		out = append(out[:maxErrors], fmt.Errorf("and %d more files", more))
	}
	return out
}

func (s *Store) loadRecord(uid string) error {
	path := s.path(uid)
	content, err := wholefile.Read(path, maxRecord)
	if err != nil {
		return fmt.Errorf("state file %w; let the user that runs Gatehouse read it", err)
	}
	r := new(Record)
	err = unseal(content, r)
	if err == nil && (r.Proxy == nil || string(r.Proxy.UID) != uid || r.Proxy.Name == "" || r.Proxy.Namespace == "") {
		err = fmt.Errorf("%w: it is of another Proxy", errDamaged)
	}
	if errors.Is(err, errNewer) {
		return fmt.Errorf("state file %s: %w; start that version", path, err)
	}
	if err != nil {
		return fmt.Errorf("state file %s: %w; restore it from a backup, or remove it: its Proxy is then created anew, and an instance labelled"+
			" proxy-operator-uid=%s is deleted once it is old enough", path, err, uid)
	}
	key := keyOf(r.Proxy)
	if other := s.records[key]; other != nil {
		return fmt.Errorf("state file %s: Proxy %s is also in %s; remove the older of the two", path, key, s.path(string(other.Proxy.UID)))
	}
	s.records[key] = r
	return nil
}

// loadCluster reads the ID, or makes one where there are no instances that another
// one may be written on.
func (s *Store) loadCluster() error {
	path := filepath.Join(s.dir, "cluster.json")
	content, err := wholefile.Read(path, maxRecord)
	var file clusterFile
	switch {
	case errors.Is(err, os.ErrNotExist) && len(s.records) == 0:
		return s.newCluster(path)
	case errors.Is(err, os.ErrNotExist):
		err = errors.New("it does not exist")
	case err == nil:
		err = unseal(content, &file)
	}
	if err == nil && file.Cluster == "" {
		err = errDamaged
	}
	if err != nil {
		return fmt.Errorf("state file %s: %w; restore it from a backup: without it the instances of %d Proxies are not recognised (their label proxy-operator-cluster has the ID)",
			path, err, len(s.records))
	}
	s.cluster = file.Cluster
	return nil
}

func (s *Store) newCluster(path string) error {
	s.cluster = string(uuid.NewUUID())
	content, err := seal(clusterFile{Cluster: s.cluster})
	if err != nil {
		return err
	}
	if err := s.disk.Replace(path, content); err != nil {
		return fmt.Errorf("state directory %q cannot be written: %w; choose another with --state-dir", s.dir, err)
	}
	return nil
}

// path is the file of the Proxy with this UID, or the directory of all.
func (s *Store) path(uid string) string {
	if uid == "" {
		return filepath.Join(s.dir, "proxies")
	}
	return filepath.Join(s.dir, "proxies", uid+".json")
}
