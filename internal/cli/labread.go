package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/script"
)

// readScript reads a built-in script or a file.
func readScript(name string) (*script.Script, error) {
	if built, ok := script.BuiltIn(name); ok {
		return built, nil
	}
	text, err := readFile(name, script.MaxSize+1)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, "/.") {
		return nil, fmt.Errorf("--script %q: no built-in script and no file has this name; 'gatehouse lab list' shows the built-in ones", name)
	}
	if err != nil {
		return nil, fmt.Errorf("--script %q: %w", name, err)
	}
	return script.Parse(name, text)
}

// maxResult bounds a saved run: half an hour of many proxies takes some ten megabytes.
const maxResult = 256 << 20

// readResult reads a run that was saved with -o json.
func readResult(name string) (result lab.Result, err error) {
	wrong := func(err error) (lab.Result, error) {
		return lab.Result{}, fmt.Errorf("--from %q: not a run that was saved with -o json by this version of gatehouse: %w", name, err)
	}
	text, err := readFile(name, maxResult)
	if err != nil {
		return result, fmt.Errorf("--from %q: %w", name, err)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return wrong(err)
	}
	if head.Version != lab.ResultVersion {
		return wrong(fmt.Errorf("version %d, not %d; run it again", head.Version, lab.ResultVersion))
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return wrong(err)
	}
	if err := result.Valid(); err != nil {
		return wrong(err)
	}
	return result, nil
}

// readFile reads a regular file of at most so many bytes. Others, such as pipes, might
// never end.
func readFile(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; name a file that is there", cause(err))
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file; save it to one first")
	case info.Size() > most:
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), most)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w; make it readable", cause(err))
	}
	return text, nil
}

// cause leaves out the path that the flag already says.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}
