package derive

import "fmt"

// misuse is a programming error in how a Graph is built or read. It is a panic
// that no Fault covers.
type misuse string

func (m misuse) Error() string { return string(m) }

func misusef(format string, args ...any) misuse {
	return misuse("derive: " + fmt.Sprintf(format, args...))
}
