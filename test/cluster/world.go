package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
)

// role, in the environment, makes this program the first process of a cluster's
// namespaces instead of what it is otherwise, so that any test binary can start a
// cluster without a program beside it.
const role = "GATEHOUSE_TEST_CLUSTER"

func init() {
	if os.Getenv(role) == "" {
		return
	}
	if err := rule(os.Stdin, os.Stdout); !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
	}
	os.Exit(1) // and the kernel ends everything else in here
}

// world is what a cluster is made from.
type world struct {
	Programs string
	Port     int               // of the API server, inside and outside
	Files    map[string][]byte // keys and certificates, by name
}

// order tells the first process what to do, answer what came of it.
type (
	order struct {
		Program string
		Do      action
	}
	answer struct{ Err string }
	action string
)

const (
	stop   action = "stop"
	start  action = "start"
	freeze action = "freeze"
	thaw   action = "thaw"
)

// rule is the life of the first process: it makes the world that it is told of, and
// follows orders until there are no more, which is io.EOF.
func rule(in io.Reader, out io.Writer) error {
	dir, err := arena.Settle()
	if err != nil {
		return err
	}
	orders := json.NewDecoder(in)
	var w world
	if err := orders.Decode(&w); err != nil {
		return err
	}
	programs, err := w.begin(dir)
	answers := json.NewEncoder(out)
	for {
		a := answer{}
		if err != nil {
			a.Err = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
		var o order
		if err := orders.Decode(&o); err != nil {
			return err
		}
		err = programs[o.Program].follow(o.Do)
	}
}

// begin starts everything and waits for nothing: the programs look for each other.
func (w world) begin(dir string) (map[string]*program, error) {
	if err := network(); err != nil {
		return nil, err
	}
	for name, content := range w.Files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	outside, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return nil, fmt.Errorf("take the listener of the parent: %w", err)
	}
	go forward(outside, w.Port)
	programs := make(map[string]*program)
	for name, arguments := range w.arguments(dir) {
		p := &program{path: filepath.Join(w.Programs, name), arguments: arguments}
		programs[name] = p
		if err := p.begin(); err != nil {
			return nil, err
		}
	}
	return programs, nil
}
