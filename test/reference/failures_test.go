package reference

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// noFailure are numbers of the list that stand for nothing.
var noFailure = map[int]bool{27: true}

const lastFailure = 43

var (
	failureRow = regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \| (.+) \|$`)
	failureRef = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)`")
)

// TestFailuresAreHeldByTests: each failure that others had names a test that is there,
// or says why it cannot happen.
func TestFailuresAreHeldByTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/fleet-failures.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, row := range failureRow.FindAllStringSubmatch(string(page), -1) {
		number, _ := strconv.Atoi(row[1])
		if seen[number] {
			t.Errorf("failure %d has two rows", number)
		}
		seen[number] = true
		tests := failureRef.FindAllStringSubmatch(row[3], -1)
		if len(tests) == 0 && !strings.HasPrefix(row[3], "Cannot happen") {
			t.Errorf("failure %d names no test and no reason: %s", number, row[3])
		}
		for _, test := range tests {
			if !declared(t, test[1], test[2]) {
				t.Errorf("failure %d: there is no %s in %s", number, test[2], test[1])
			}
		}
	}
	for number := 1; number <= lastFailure; number++ {
		if seen[number] == noFailure[number] {
			t.Errorf("failure %d: has a row: %v", number, seen[number])
		}
	}
}

// declared says whether a package of the repository has the test.
func declared(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(source, []byte("\nfunc "+name+"(t *testing.T)")) {
			return true
		}
	}
	return false
}
