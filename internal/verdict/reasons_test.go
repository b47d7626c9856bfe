package verdict

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestAllIsSortedAndUnique(t *testing.T) {
	for i, r := range All[1:] {
		if r.Name <= All[i].Name {
			t.Errorf("%s comes after %s", r.Name, All[i].Name)
		}
	}
}

func TestEveryReasonIsDocumented(t *testing.T) {
	camel := regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	for _, r := range All {
		if !camel.MatchString(r.Name) {
			t.Errorf("%q is not CamelCase", r.Name)
		}
		if !strings.HasSuffix(r.Meaning, ".") {
			t.Errorf("%s: the meaning %q is no sentence", r.Name, r.Meaning)
		}
		if (r.Class == InfoClass) != (r.Remedy == "") {
			t.Errorf("%s of class %s has the remedy %q: all but info reasons need one", r.Name, r.Class, r.Remedy)
		}
		if !slices.Contains([]Class{OutcomeClass, FailureClass, InfoClass}, r.Class) {
			t.Errorf("%s has the unknown class %q", r.Name, r.Class)
		}
	}
}

// A reason that is declared but not in All would be missing from the reference page.
func TestAllHasEveryDeclaredReason(t *testing.T) {
	files, err := filepath.Glob("reason*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, name := range declaredReasons(t, file) {
			if _, ok := ReasonNamed(name); !ok {
				t.Errorf("%s declares %s, which is not in All", file, name)
			}
		}
	}
}

func declaredReasons(t *testing.T, file string) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.CompositeLit); ok {
			if id, ok := lit.Type.(*ast.Ident); ok && id.Name == "Reason" {
				names = append(names, spec.Names[0].Name)
			}
		}
		return true
	})
	return names
}

func TestZeroResultIsUnexplained(t *testing.T) {
	var r Result[int]
	if _, ok := r.Get(); ok {
		t.Error("the zero Result contributes")
	}
	if steps := r.Steps(); len(steps) != 1 || steps[0].Reason != Unexplained.Name {
		t.Errorf("the zero Result has the steps %v", steps)
	}
}
