package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// record is what the next Supervisor has to know of a process. It is written
// before the process starts, without a pid, and again afterwards.
type record struct {
	Gateway model.GatewayID `json:"gateway"`
	Node    string          `json:"node"`
	// Hash is that of all that the process cannot change without a restart.
	Hash        string `json:"hash"`
	AdminSocket string `json:"adminSocket"`
	// PID, StartTicks and BootID name the process; PID is 0 while it is not known.
	PID        int    `json:"pid,omitempty"`
	StartTicks uint64 `json:"startTicks,omitempty"`
	BootID     string `json:"bootID,omitempty"`
	// Ending processes are not adopted.
	Ending bool `json:"ending,omitempty"`
}

// start is the folder of one start of a process.
type start string

func (s start) bootstrap() string { return filepath.Join(string(s), "bootstrap.json") }
func (s start) record() string    { return filepath.Join(string(s), "record.json") }

// gatewayDir is the folder of the Gateway that the start belongs to.
func (s start) gatewayDir() gatewayDir { return gatewayDir(filepath.Dir(string(s))) }

// remove removes the start's folder and its admin socket.
func (s start) remove(adminSocket string) error {
	if adminSocket != "" {
		if err := os.Remove(adminSocket); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return os.RemoveAll(string(s))
}

func (s start) write(r record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Replace(s.record(), data)
}

func (s start) read() (record, error) {
	var r record
	data, err := os.ReadFile(s.record())
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", s.record(), err)
	}
	return r, nil
}

// gatewayDir is the folder of one Gateway.
type gatewayDir string

func (d gatewayDir) log() string       { return filepath.Join(string(d), "envoy.log") }
func (d gatewayDir) accessLog() string { return filepath.Join(string(d), "access.log") }
