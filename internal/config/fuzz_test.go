package config

import (
	"strings"
	"testing"
)

// FuzzFile: whatever a file holds, it is either a valid configuration, or every
// error is one line that names the file.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "# nothing\n", "adminAddress: 127.0.0.1:1\n", "features: {xbackend: false}\n", "a: &a [*a]\n", "? {a: b}\n: c\n",
		"config: [a, b]\n", "config: [[a]]\n", "\x00", "---\n---\n", "log: {level: [debug]}\n", "drainTimeout: -1s\n", "<<: {a: b}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := load(t, text+" ", nil, nil)
		if err == nil {
			if CheckHostPort(got.Run.AdminAddress) != nil || !got.Run.BindAddress.IsValid() || got.Run.DrainTimeout < 0 {
				t.Errorf("loaded %+v", got.Run)
			}
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !strings.Contains(line, "gatehouse.yaml") && !strings.HasPrefix(line, "settings: ") {
				t.Errorf("%q does not say where it comes from", line)
			}
		}
	})
}
