package derive

import (
	"fmt"
	"runtime/debug"
)

// Fault is a function that panicked.
type Fault struct {
	Node, Key string
	Panic     any
	Stack     []byte
}

func (f Fault) String() string { return fmt.Sprintf("%s %q panicked: %v", f.Node, f.Key, f.Panic) }

// misuseError is a programming error in how a Graph is built or read. It is a
// panic that no Fault covers.
type misuseError string

func (m misuseError) Error() string { return string(m) }

func misuse(format string, args ...any) misuseError {
	return misuseError("derive: " + fmt.Sprintf(format, args...))
}

// protect turns a panic of f into a Fault.
func protect(n *node, key string, f func()) (fault *Fault) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case misuseError:
			panic(cause)
		default:
			fault = &Fault{n.name, key, cause, debug.Stack()}
		}
	}()
	f()
	return nil
}

// setFault replaces the Fault that stands for a key of n.
func (e *evaluation) setFault(n *node, key string, fault *Fault) {
	faults := &e.next.tables[n.id].faults
	if fault == nil {
		*faults = faults.DeleteIn(e.draft, key)
		return
	}
	*faults = faults.SetIn(e.draft, key, *fault)
	e.faults = append(e.faults, *fault)
}
