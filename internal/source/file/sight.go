package file

import (
	"io/fs"
	"os"
)

// sight is what a path looks like from outside: when it changes, the path may be
// readable, or gone.
type sight struct {
	link, target         fileID
	linkMode, targetMode fs.FileMode
	problem              string
}

func look(path string) (out sight) {
	if info, err := os.Lstat(path); err == nil {
		out.link, out.linkMode = idOf(info), info.Mode()
	}
	info, err := os.Stat(path)
	if err != nil {
		out.problem = unreadable(err).message
		return out
	}
	out.target, out.targetMode = idOf(info), info.Mode()
	return out
}

// fail notes that a path cannot be read.
func (t *tree) fail(path string, p problem) {
	t.problems[path], t.sights[path] = p, look(path)
}

// changed reports whether some path that could not be read looks different now.
func (t *tree) changed() bool {
	for path, before := range t.sights {
		if look(path) != before {
			return true
		}
	}
	return false
}
