package config

import (
	"net/netip"
	"time"
)

// Run is the static configuration of "gatehouse run".
type Run struct {
	// Paths are the files and directories of objects (--config).
	Paths []string
	// ControllerName is matched against GatewayClass spec.controllerName.
	ControllerName string
	Envoy          string
	BindAddress    netip.Addr
	AdminAddress   string // host:port; port 0 allowed
	MetricsAddress string
	StateDir       string
	KeepProxies    bool
	DrainTimeout   time.Duration
	// Prover is prefer by default.
	Prover Prover
	// ValidatorsFile is the file that Validators are read from (--validators); empty is none.
	ValidatorsFile string
	// Validators are asked in this order, after the proving Envoy.
	Validators []Validator
	// XDSMaxReceiveBytes is the largest request taken from an Envoy.
	XDSMaxReceiveBytes int
	Features           Features
	FailModes          FailModes
	// LogLevel of Gatehouse itself: debug, info, warn, error.
	LogLevel string
	LogJSON  bool
}

// Prover says what is done without the verdict of a proving Envoy.
type Prover string

// What may be done without it.
const (
	ProverRequired  Prover = "require" // changes wait
	ProverPreferred Prover = "prefer"  // they pass
	ProverOff       Prover = "off"     // there is none
)

// Features are the switches that open kinds and fields.
type Features struct {
	Experimental bool // default false
	XBackend     bool // default true
}

// FailModes are the classes of input of which no earlier revision serves while a later
// one is rejected.
type FailModes struct {
	Certificates, CAs, Access, Deletions bool // true closes; default false, which retains
}
