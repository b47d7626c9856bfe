package proxy

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		os.Exit(role())
	}
	goleak.VerifyTestMain(m)
}

// roleVariable makes the test binary play a process of its own.
const roleVariable = "PROXY_TEST_ROLE"

// roles are what a child can be; their result is its exit status.
var roles = map[string]func() int{}
