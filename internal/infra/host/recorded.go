package host

import (
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// Recorded is a proxy as its folder tells of it.
type Recorded struct {
	Gateway model.GatewayID
	PID     int
	// AdminSocket is the path of the Unix socket of its admin interface, which serves
	// a moment after the record is written.
	AdminSocket string
}

// ReadRecords returns the proxies that the folders of a state directory tell of, in
// order of Gateway, for those who look on from outside. A proxy that is ending may be
// among them, and one that has ended together with its Supervisor.
func ReadRecords(stateDir string) []Recorded {
	var all []Recorded
	for _, dir := range (launcher{proxies: filepath.Join(stateDir, "proxies")}).starts() {
		r, err := dir.read()
		if err != nil || r.PID == 0 {
			continue // its start is not complete, or it is over
		}
		all = append(all, Recorded{Gateway: r.Gateway, PID: r.PID, AdminSocket: r.AdminSocket})
	}
	return all
}
