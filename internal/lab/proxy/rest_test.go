package proxy

import (
	"os"
	"testing"
	"time"
)

func TestRestWaitsForABusyChild(t *testing.T) {
	log := new(buffer)
	// The child is busy until it is told, then it sleeps.
	told, done := t.TempDir()+"/told", t.TempDir()+"/done"
	p := start(t, shell(`(echo busy; while [ ! -e `+told+` ]; do :; done; echo >`+done+`; exec sleep 300) & wait`, log))
	if err := p.Await(within(t, 10*time.Second), logged(log, "busy")); err != nil {
		t.Fatal(err)
	}

	err := Rest(within(t, 50*time.Millisecond), p.PID())

	wantError(t, err, "never rests")
	if err := os.WriteFile(told, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Rest(within(t, 10*time.Second), p.PID()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(done); err != nil {
		t.Errorf("rested before it was done: %v", err)
	}
}

func TestRestOfNobody(t *testing.T) {
	p := start(t, shell("exit 0", new(buffer)))
	<-p.Exited()
	if err := Rest(within(t, 10*time.Second), p.PID()); err != nil {
		t.Error(err)
	}
}
