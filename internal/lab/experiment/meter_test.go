package experiment

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// What changes cost is what the restless time cost above the rate of the calm time,
// without what the observer's questions cost.
func TestPropagationIsAboveTheCalmRate(t *testing.T) {
	m := &meter{
		price:    price{question: time.Millisecond},
		rested:   reading{at: seconds(8), cpu: 820 * time.Millisecond, asked: 20}, // 0.1 s a second
		stirred:  reading{at: seconds(2), cpu: 750 * time.Millisecond, asked: 500},
		resident: 7,
	}
	got := m.cost()
	want := lab.Cost{CPU: 1.05, Propagation: 0.05, Memory: 7}
	if got.Memory != want.Memory || !near(got.CPU, want.CPU) || !near(got.Propagation, want.Propagation) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A grandchild's work counts, and stays counted when it has ended.
func TestUsageOfATree(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo worked; read x'; echo left; read x`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	u := newUsage(func() []int { return []int{cmd.Process.Pid} })
	expect(t, out, "worked\n")
	worked, memory := u.cpu(), u.memory()
	if worked < 10*time.Millisecond || memory < 100<<10 {
		t.Errorf("while the grandchild lives: %v and %d bytes, want some 100 ms and some 500 KB", worked, memory)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	expect(t, out, "left\n")
	if after := u.cpu(); after < worked {
		t.Errorf("after the grandchild's end: %v, want no less than %v", after, worked)
	}
}

func expect(t *testing.T, from interface{ Read([]byte) (int, error) }, want string) {
	t.Helper()
	got := make([]byte, len(want))
	for n := 0; n < len(got); {
		more, err := from.Read(got[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += more
	}
	if string(got) != want {
		t.Fatalf("read %q, want %q", got, want)
	}
}

// What the kernel says that this process spent is what its threads add up to, however
// busy the machine is.
func TestOwnThreadsCount(t *testing.T) {
	u := newUsage(func() []int { return []int{os.Getpid()} })
	before, own := u.cpu(), ownCPU(t)
	for deadline := time.Now().Add(time.Minute); ownCPU(t)-own < 50*time.Millisecond; {
		if time.Now().After(deadline) {
			t.Fatal("a busy loop spends nothing")
		}
		runtime.Gosched()
	}
	// A thread that runs is up to a tick behind.
	spent, most := u.cpu()-before, ownCPU(t)-own
	if spent < 30*time.Millisecond || spent > most+20*time.Millisecond {
		t.Errorf("between 50 ms and %v were spent, but it says %v", most, spent)
	}
}

func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var spent syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent); err != nil {
		t.Fatal(err)
	}
	return time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
}
