package app

import (
	"os"
	"runtime"
)

// spareProcessor lets Go believe in two processors where there is one: a loop of
// pkg/proxy keeps the one it runs on while it waits only as long as another is idle, and
// gives a tenth of its transactions away otherwise. $GOMAXPROCS is obeyed.
func spareProcessor() {
	if _, given := os.LookupEnv("GOMAXPROCS"); !given && runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
	}
}
