package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
)

// clientFlags adds the flags of commands that ask a running instance, and returns
// how to make the client from them.
func (s *session) clientFlags(cmd *cobra.Command) func() (admin.Client, error) {
	load := s.settingFlags(cmd, onlyAdmin)
	cmd.Flags().Lookup("admin-address").Usage = "where the running instance's admin API listens"
	timeout := cmd.Flags().Duration("timeout", 10*time.Second, "`DURATION` to wait for the answer")
	return func() (admin.Client, error) {
		loaded, err := load(false)
		if err != nil {
			return admin.Client{}, usage(err)
		}
		return admin.Client{Address: loaded.Run.AdminAddress, Timeout: *timeout}, nil
	}
}
