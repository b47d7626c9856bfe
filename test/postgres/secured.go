package postgres

import (
	"os"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

// Secured is the TLS of a server. Clients may still come in clear, unless Access says
// otherwise.
type Secured struct {
	Pair tlsutil.Pair
	// ClientCA signs the certificates of clients, in PEM; empty for none.
	ClientCA []byte
}

// secure writes what the server needs into dir and returns the settings that name it.
func (s *Secured) secure(tb testing.TB, dir string) []string {
	tb.Helper()
	if s == nil {
		return nil
	}
	own(tb, dir+"/server.crt", s.Pair.Cert)
	own(tb, dir+"/server.key", s.Pair.Key)
	settings := []string{"-c", "ssl=on", "-c", "ssl_cert_file=" + dir + "/server.crt", "-c", "ssl_key_file=" + dir + "/server.key"}
	if len(s.ClientCA) > 0 {
		own(tb, dir+"/clients.crt", s.ClientCA)
		settings = append(settings, "-c", "ssl_ca_file="+dir+"/clients.crt")
	}
	return settings
}

// access writes a pg_hba.conf in place of the one that Auth makes.
func (o Options) access(tb testing.TB, dir string) []string {
	tb.Helper()
	if o.Access == "" {
		return nil
	}
	own(tb, dir+"/hba.conf", []byte("local all all trust\n"+o.Access+"\n"))
	return []string{"-c", "hba_file=" + dir + "/hba.conf"}
}

// own writes a file that the server's user owns, and nobody else reads.
func own(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	if c := credential(tb); c != nil {
		if err := os.Chown(path, int(c.Uid), int(c.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
}
