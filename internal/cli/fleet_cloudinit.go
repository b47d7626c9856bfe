package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/cloudinit"
)

// programs are the forward proxies that user data can set up.
var programs = map[string]func(cloudinit.Request) ([]byte, error){
	"forward": cloudinit.UserData, "squid": cloudinit.Squid, "tinyproxy": cloudinit.Tinyproxy,
}

func (s *session) cloudInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cloud-init --auth-dir DIR",
		Short:   "Print the user data that makes a machine a forward proxy",
		Example: "  gatehouse fleet cloud-init --program squid --auth-dir px-auth > user-data",
		Long: "The credentials are files of a directory: username and password, and for gatehouse-forward also\n" +
			"lease-key, tls.crt and tls.key. What is printed holds them: keep it in a Secret, and let\n" +
			"spec.cloudInit.secretRef of a Proxy name it. docs/fleet.md says what each program can do.",
		Args: cobra.NoArgs,
	}
	names := slices.Sorted(maps.Keys(programs))
	var r cloudinit.Request
	program := cmd.Flags().String("program", "forward", "the proxy: "+strings.Join(names, ", "))
	auth := cmd.Flags().String("auth-dir", "", "`DIR` with the credentials")
	cmd.Flags().IntVar(&r.Port, "port", 3128, "`PORT` that it listens at")
	cmd.Flags().StringVar(&r.Scheme, "scheme", "http", "http, https or socks5; only forward has others than http")
	cmd.Flags().StringVar(&r.Forward.URL, "forward-url", "", "`URL` of gatehouse-forward, for program forward")
	cmd.Flags().StringVar(&r.Forward.SHA256, "forward-sha256", "", "its `SHA-256`, as sha256sum prints it")
	_ = cmd.RegisterFlagCompletionFunc("program", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = s.begin(func(*cobra.Command, []string) error {
		write, ok := programs[*program]
		if !ok {
			return usage(fmt.Errorf("--program %q: must be one of %s", *program, strings.Join(names, ", ")))
		}
		if err := readCredentials(&r, *auth); err != nil {
			return usage(err)
		}
		out, err := write(r)
		if err != nil {
			return usage(err)
		}
		_, err = s.Out.Write(out)
		return err
	})
	return cmd
}

// readCredentials takes what is there of the files of a directory.
func readCredentials(r *cloudinit.Request, dir string) error {
	if dir == "" {
		return errors.New("--auth-dir is missing: name a directory with the files username and password")
	}
	read := func(name string) ([]byte, error) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && name != "username" && name != "password" {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("--auth-dir %s: %s cannot be read: %w", dir, name, errors.Unwrap(err))
		}
		return content, nil
	}
	var username, password []byte
	for _, file := range []struct {
		name string
		into *[]byte
	}{{"username", &username}, {"password", &password}, {"lease-key", &r.LeaseKey}, {"tls.crt", &r.TLSCert}, {"tls.key", &r.TLSKey}} {
		content, err := read(file.name)
		if err != nil {
			return err
		}
		*file.into = content
	}
	// Editors end a file with a line break.
	r.Username, r.Password = strings.TrimSuffix(string(username), "\n"), strings.TrimSuffix(string(password), "\n")
	return nil
}
