// Command validator is an auxiliary validator for tests, in the form that operators
// write: it reads a candidate as files and refuses by its flags. Objects are written
// "Kind namespace/name"; an object is present when some resource was made from it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// resource is one file of a candidate.
type resource struct {
	Type    string          `json:"type"`
	Name    string          `json:"name"`
	Group   string          `json:"group"`
	Origins []string        `json:"origins"`
	Body    json.RawMessage `json:"body"`
}

type object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// fault is one entry of the report.
type fault struct {
	Object  *object `json:"object,omitempty"`
	Message string  `json:"message"`
}

// rules are what it refuses.
type rules struct {
	sleep    time.Duration
	changed  bool
	names    bool
	apart    string
	together string
	forbid   string
	needs    string
}

func main() {
	var r rules
	flag.DurationVar(&r.sleep, "sleep", 0, "how long every verdict takes")
	flag.BoolVar(&r.changed, "changed", false, "look only at the resources that changed")
	flag.BoolVar(&r.names, "names", false, "name the object at fault where there is one")
	flag.StringVar(&r.apart, "apart", "", "two objects, joined by a comma, that must not be present together")
	flag.StringVar(&r.together, "together", "", "two texts, joined by a comma, of which neither may occur without the other")
	flag.StringVar(&r.forbid, "forbid", "", "text that must not occur")
	flag.StringVar(&r.needs, "needs", "", "two objects, joined by a comma, of which the first needs the second")
	flag.Parse()
	all, err := read(os.Getenv("GATEHOUSE_CANDIDATE"), os.Getenv("GATEHOUSE_DELTA"), r.changed)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	time.Sleep(r.sleep)
	faults := r.judge(all)
	if len(faults) == 0 {
		return
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string][]fault{"errors": faults})
	os.Exit(1)
}

// read returns the resources of a candidate, or those of them that changed.
func read(candidate, delta string, changed bool) ([]resource, error) {
	paths, err := filesOf(candidate, delta, changed)
	if err != nil {
		return nil, err
	}
	var all []resource
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var r resource
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func filesOf(candidate, delta string, changed bool) (paths []string, err error) {
	if !changed {
		err = filepath.WalkDir(candidate, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				paths = append(paths, path)
			}
			return err
		})
		return paths, err
	}
	text, err := os.ReadFile(delta)
	if err != nil {
		return nil, err
	}
	var d struct {
		Set []string `json:"set"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	for _, path := range d.Set {
		paths = append(paths, filepath.Join(candidate, path))
	}
	return paths, nil
}

func (r rules) judge(all []resource) []fault {
	var faults []fault
	if first, second, ok := strings.Cut(r.apart, ","); ok && present(all, first) && present(all, second) {
		faults = append(faults, r.fault(second, first+" and "+second+" must not be there together"))
	}
	if first, second, ok := strings.Cut(r.together, ","); ok && occurs(all, first) != occurs(all, second) {
		faults = append(faults, fault{Message: first + " and " + second + " go together"})
	}
	if first, second, ok := strings.Cut(r.needs, ","); ok && present(all, first) && !present(all, second) {
		faults = append(faults, r.fault(second, first+" needs "+second))
	}
	if r.forbid != "" {
		faults = append(faults, r.forbidden(all)...)
	}
	return faults
}

func (r rules) forbidden(all []resource) []fault {
	for _, x := range all {
		if strings.Contains(string(x.Body), r.forbid) {
			return []fault{r.fault(routeOf(x), fmt.Sprintf("%q is forbidden", r.forbid))}
		}
	}
	return nil
}

// routeOf is the first route that a resource was made from.
func routeOf(x resource) string {
	for _, origin := range x.Origins {
		if strings.Contains(origin, "Route ") {
			return origin
		}
	}
	return ""
}

// fault names its object if it is asked to.
func (r rules) fault(of, message string) fault {
	kind, name, ok := strings.Cut(of, " ")
	if !r.names || !ok {
		return fault{Message: message}
	}
	return fault{Object: &object{kind, name}, Message: message}
}

func present(all []resource, object string) bool {
	return slices.ContainsFunc(all, func(r resource) bool { return slices.Contains(r.Origins, object) })
}

func occurs(all []resource, text string) bool {
	return slices.ContainsFunc(all, func(r resource) bool { return strings.Contains(string(r.Body), text) })
}
