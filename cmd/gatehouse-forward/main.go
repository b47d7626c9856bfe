// Command gatehouse-forward is a forward proxy for the instances of a fleet.
package main

import (
	"os"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/command"
)

func main() { os.Exit(command.Process()) }
