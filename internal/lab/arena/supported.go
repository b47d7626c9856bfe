package arena

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Supported returns nil if legs can run here, else why not and what to do about it, in
// one line. The command is run as a leg; it must call [Enter], print its error if there
// is one, and end with code 0 otherwise.
func Supported(ctx context.Context, name string, args ...string) error {
	const longest = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	var said bytes.Buffer
	cmd := Command(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if _, ran := errors.AsType[*exec.ExitError](err); ran && ctx.Err() == nil {
		err = errors.New(strings.Join(strings.Fields(said.String()), " "))
	}
	return fmt.Errorf("no namespaces of its own for a proxy: %w; %s", err, remedy(privileged(), os.ReadFile))
}

// remedy says what most likely keeps this process from making namespaces.
func remedy(privileged bool, read func(string) ([]byte, error)) string {
	if privileged {
		return "use a kernel with network, process, mount and IPC namespaces and the module veth"
	}
	for _, cause := range []struct{ setting, bad, good string }{
		{"user.max_user_namespaces", "0", "10000"},
		{"kernel.unprivileged_userns_clone", "0", "1"},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
	} {
		text, err := read("/proc/sys/" + strings.ReplaceAll(cause.setting, ".", "/"))
		if err == nil && strings.TrimSpace(string(text)) == cause.bad {
			return fmt.Sprintf("run as root, or set sysctl %s=%s", cause.setting, cause.good)
		}
	}
	return "run as root, in a container with --privileged"
}
