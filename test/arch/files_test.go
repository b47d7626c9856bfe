package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	maxFileLines     = 400
	maxFunctionLines = 100
)

// parse returns the syntax of every Go file of the module that no generator wrote.
func parse(t *testing.T, f func(p pkg, name string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, p := range packages(t) {
		for _, path := range p.sources() {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil {
				t.Error(err)
				continue
			}
			if !ast.IsGenerated(file) {
				f(p, filepath.ToSlash(filepath.Join(p.path(), filepath.Base(path))), fset, file)
			}
		}
	}
}

// TestLengths keeps files and functions to what a reader holds in mind at once.
func TestLengths(t *testing.T) {
	parse(t, func(_ pkg, name string, fset *token.FileSet, file *ast.File) {
		if lines := fset.File(file.FileStart).LineCount(); lines > maxFileLines {
			t.Errorf("%s has %d lines, at most %d: split it by idea", name, lines, maxFileLines)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; lines > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, at most %d", name, fn.Name.Name, lines, maxFunctionLines)
			}
		}
	})
}

// TestPackageDocs: a package says once what it turns into what, who may block,
// and what it never does.
func TestPackageDocs(t *testing.T) {
	docs := make(map[string][]string)
	seen := make(map[string]pkg)
	parse(t, func(p pkg, name string, _ *token.FileSet, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		seen[p.path()] = p
		if text := strings.TrimSpace(file.Doc.Text()); text != "" {
			docs[p.path()] = append(docs[p.path()], text)
		}
	})
	for path, p := range seen {
		switch texts := docs[path]; {
		case len(texts) != 1:
			t.Errorf("%s has %d package comments, must have one", path, len(texts))
		case p.Name != "main" && !strings.HasPrefix(texts[0], "Package "+p.Name+" "):
			t.Errorf("%s: its comment must begin with \"Package %s \"", path, p.Name)
		case len(texts[0]) < 40:
			t.Errorf("%s: %q says too little", path, texts[0])
		}
	}
}

// foreign are words that tie the repository to one machine or one way of working.
// They are split here so that this file does not contain them.
var foreign = regexp.MustCompile(strings.Join([]string{
	`(^|[^\w./])/wo` + `rk/`,
	`(^|[^\w./])/ro` + `ot/`,
	`/tmp/scr` + `atch`,
	`sha` + `red/(design|reference|hooks)`,
	`proxy\.gol` + `ang\.org`,
	`(^|\W)(files\.)?python` + `hosted\.org`,
	`(^|\W)py` + `pi\.org`,
	`registry\.npm` + `js\.org`,
	`deb\.deb` + `ian\.org`,
}, "|"))

func TestForeignWords(t *testing.T) {
	texts(t, func(path, text string) {
		number := 0
		for line := range strings.Lines(text) {
			number++
			if word := foreign.FindString(line); word != "" {
				t.Errorf("%s:%d: %q speaks of one machine; the repository speaks of the product", path, number, strings.TrimSpace(word))
			}
		}
	})
}

// TestNoOutdatedIdioms runs the toolchain's own modernizers.
func TestNoOutdatedIdioms(t *testing.T) {
	// It fails with the difference on its output when there is one.
	command(t, "go", "fix", "-diff", "./...")
}
