package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// tableFile keeps in the state directory how large route tables are looked up, for
// the next process. Without the file that one decides anew: a proxy that outlived
// this one may then change its way once more.
type tableFile struct {
	path string
	log  *slog.Logger
	next chan map[model.TableID]pipeline.Way // the latest one that is not written yet
}

// tablesOnDisk is the form of the file.
type tablesOnDisk struct {
	Version int                            `json:"version"`
	Tables  map[model.TableID]pipeline.Way `json:"tables"`
}

const tablesVersion = 1

func newTableFile(stateDir string, log *slog.Logger) *tableFile {
	return &tableFile{path: filepath.Join(stateDir, "route-tables.json"), log: log, next: make(chan map[model.TableID]pipeline.Way, 1)}
}

// Recall reads the file. One that is of no use is told and taken for none.
func (f *tableFile) Recall() map[model.TableID]pipeline.Way {
	raw, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var was tablesOnDisk
	if err == nil {
		err = json.Unmarshal(raw, &was)
	}
	if err == nil && was.Version != tablesVersion {
		err = fmt.Errorf("version is %d, want %d", was.Version, tablesVersion)
	}
	if err != nil {
		f.log.Warn("how route tables were looked up cannot be read, deciding anew", observe.KeyPath, f.path, observe.KeyError, err)
		return nil
	}
	return was.Tables
}

// Keep hands what is to be kept to the goroutine that writes. It has one caller.
func (f *tableFile) Keep(ways map[model.TableID]pipeline.Way) {
	select {
	case <-f.next: // it is outdated
	default:
	}
	f.next <- ways
}

// run writes what is to be kept until ctx ends, and then what is left.
func (f *tableFile) run(ctx context.Context) error {
	var written map[model.TableID]pipeline.Way
	save := func(ways map[model.TableID]pipeline.Way) {
		if maps.EqualFunc(ways, written, pipeline.Way.Equal) {
			return
		}
		if err := f.write(ways); err != nil {
			f.log.Warn("how route tables are looked up cannot be saved; after a restart it is decided anew", observe.KeyPath, f.path, observe.KeyError, err)
			return
		}
		written = ways
	}
	for {
		select {
		case ways := <-f.next:
			save(ways)
		case <-ctx.Done():
			select {
			case ways := <-f.next:
				save(ways)
			default:
			}
			return nil
		}
	}
}

// write replaces the file as a whole.
func (f *tableFile) write(ways map[model.TableID]pipeline.Way) error {
	raw, err := json.MarshalIndent(tablesOnDisk{tablesVersion, ways}, "", " ")
	if err != nil {
		return err
	}
	return wholefile.Replace(f.path, append(raw, '\n'))
}
