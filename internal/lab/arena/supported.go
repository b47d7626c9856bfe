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
	return fmt.Errorf("no namespaces of its own for a proxy: %w; %s", err, remedy(os.ReadFile))
}

// remedy says what most likely keeps this process from making namespaces.
func remedy(read func(string) ([]byte, error)) string {
	for _, cause := range []struct{ file, value, say string }{
		{"/proc/sys/user/max_user_namespaces", "0", "run as root, or set sysctl user.max_user_namespaces=10000"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "run as root, or set sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "run as root, or set sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if text, err := read(cause.file); err == nil && strings.TrimSpace(string(text)) == cause.value && !privileged() {
			return cause.say
		}
	}
	if privileged() {
		return "use a kernel with network, process and mount namespaces"
	}
	return "run as root, in a container with --privileged"
}
