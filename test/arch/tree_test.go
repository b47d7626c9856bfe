package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/gatehouse-proxy/gatehouse"

// pkg is what "go list -json" says of a package; Deps are the indirect imports too.
type pkg struct {
	ImportPath   string
	Name         string
	Dir          string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	Deps         []string
}

// path is the import path within the module, for example "internal/model".
func (p pkg) path() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// relative writes our own packages as "./internal/model" and leaves the others.
func relative(importPath string) string {
	if rest, ours := strings.CutPrefix(importPath, module+"/"); ours {
		return "./" + rest
	}
	return importPath
}

// root is the directory of the repository.
const root = "../.."

// command runs a command in the repository and returns its standard output.
func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out
}

// packages returns every package of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	out := json.NewDecoder(bytes.NewReader(command(t, "go", "list",
		"-json=ImportPath,Name,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,Deps", "./...")))
	var all []pkg
	for {
		var p pkg
		err := out.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages: the rules would pass for lack of anything to check", len(all))
	}
	return all
}

// sources yields the path of every Go file of a package, tests included.
func (p pkg) sources() []string {
	var files []string
	for _, names := range [][]string{p.GoFiles, p.TestGoFiles, p.XTestGoFiles} {
		for _, name := range names {
			files = append(files, filepath.Join(p.Dir, name))
		}
	}
	return files
}

// texts calls f with every text file of the repository and its slash-separated path.
func texts(t *testing.T, f func(path, text string)) {
	t.Helper()
	skip := map[string]bool{".git": true, "bin": true, "demo": true, ".cache": true}
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skip[path] {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		raw, err := fs.ReadFile(tree, path)
		if err == nil && !bytes.ContainsRune(raw, 0) {
			f(path, string(raw))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
