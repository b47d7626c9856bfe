package arena

import (
	"os"
	"strings"
	"testing"
)

func TestSupported(t *testing.T) {
	if err := Supported(t.Context(), "/bin/true"); err != nil {
		t.Errorf("here: %v", err)
	}
	for _, test := range []struct {
		command []string
		want    string
	}{
		{[]string{"/bin/sh", "-c", "echo mount /proc: no >&2; exit 1"}, "no namespaces of its own for a proxy: mount /proc: no; "},
		{[]string{"/no/such/program"}, "no such file or directory"},
	} {
		err := Supported(t.Context(), test.command[0], test.command[1:]...)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q in one line", test.command, err, test.want)
		}
	}
}

// TestRemedy: what the kernel is set to decides what the user is told.
func TestRemedy(t *testing.T) {
	settings := func(file, value string) func(string) ([]byte, error) {
		return func(path string) ([]byte, error) {
			if path == file {
				return []byte(value + "\n"), nil
			}
			return nil, os.ErrNotExist
		}
	}
	for _, test := range []struct {
		privileged        bool
		file, value, want string
	}{
		{false, "/proc/sys/user/max_user_namespaces", "0", "run as root, or set sysctl user.max_user_namespaces=10000"},
		{false, "/proc/sys/user/max_user_namespaces", "96365", "run as root, in a container with --privileged"},
		{false, "/proc/sys/kernel/unprivileged_userns_clone", "0", "run as root, or set sysctl kernel.unprivileged_userns_clone=1"},
		{false, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "run as root, or set sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		{true, "/proc/sys/user/max_user_namespaces", "0", "use a kernel with network, process, mount and IPC namespaces and the module veth"},
	} {
		if got := remedy(test.privileged, settings(test.file, test.value)); got != test.want {
			t.Errorf("%s=%s: %q, want %q", test.file, test.value, got, test.want)
		}
	}
}
