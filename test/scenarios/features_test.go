package scenarios

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/gatehouse-proxy/gatehouse/internal/compile"
)

// featuresOf are the features of Gateway API that a scenario shows: those that its
// comment lists after "Features:".
func featuresOf(comment string) []string {
	_, list, found := strings.Cut(comment, "\nFeatures: ")
	if !found {
		return nil
	}
	list, _, _ = strings.Cut(list, "\n\n")
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// TestEveryFeatureHasAScenario: what a GatewayClass says to support is shown, and
// nothing is shown that it does not support.
func TestEveryFeatureHasAScenario(t *testing.T) {
	paths, err := filepath.Glob("*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	supported := compile.SupportedFeatures()
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, feature := range featuresOf(string(archive.Comment)) {
			if shown[feature] = path; !slices.Contains(supported, feature) {
				t.Errorf("%s shows %s, which is not supported", path, feature)
			}
		}
	}
	for _, feature := range supported {
		if shown[feature] == "" {
			t.Errorf("%s is claimed and no scenario shows it: write one, or name it after \"Features:\" in the comment of one", feature)
		}
	}
}
