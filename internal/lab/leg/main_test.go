package leg

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/experiment"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/nginx"
)

// The test binary is the parent of legs, a leg, and a backend, as the product's is.
func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	switch {
	case slices.Equal(os.Args[1:], command):
		os.Exit(code(play(ctx)))
	case slices.Equal(os.Args[1:], []string{"lab", "backend"}):
		os.Exit(code(arena.ServeBackend(ctx, os.Stdin, os.Stdout)))
	}
	stop()
	goleak.VerifyTestMain(m)
}

func code(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 3
}

// Kinds of legs that misbehave; every other kind is served as in the product.
const (
	talksNonsense   = "talks nonsense"
	diesBeforeReady = "dies before it is ready"
	diesInTheRun    = "dies in the run"
	diesInSilence   = "dies in silence"
)

// play is the life of a leg of these tests.
func play(ctx context.Context) error {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	var order Order
	if err := json.Unmarshal([]byte(line), &order); err != nil {
		return err
	}
	switch order.Kind {
	case talksNonsense:
		fmt.Println("hello")
	case diesBeforeReady:
		return fmt.Errorf("much to say\nno room today")
	case diesInTheRun, diesInSilence:
		if err := json.NewEncoder(os.Stdout).Encode(said{Ready: true}); err != nil {
			return err
		}
		if word, err := in.ReadString('\n'); err != nil || word != goAhead+"\n" {
			return fmt.Errorf("the parent says %q: %w", word, err)
		}
		if order.Kind == diesInSilence {
			os.Exit(4)
		}
		return fmt.Errorf("the roof came down")
	default:
		return Serve(ctx, io.MultiReader(strings.NewReader(line), in), os.Stdout, os.Stderr, []proxy.Description{nginx.Describe()})
	}
	_, err = io.Copy(io.Discard, in) // until the parent ends it
	return err
}

const length = lab.Moment(1500 * time.Millisecond)

// order is a short run of one backend.
func order(t *testing.T, kind string) Order {
	t.Helper()
	program, err := nginx.Describe().Find()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Order{
		Plan: experiment.Plan{
			Name: kind + ":own", Model: lab.ModelReload,
			Timeline: lab.Timeline{
				Events: []lab.Event{{Kind: lab.Add, Backend: "a", Address: "10.0.1.1"}},
				Length: length, Reload: lab.Policy{OnChange: true},
			},
			Load: lab.Load{Rate: 50, Timeout: lab.Moment(time.Second)},
		},
		Kind: kind, Program: program, Gatehouse: self,
	}
}
