package tlsstore

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// running runs the Store until the test or bubble is over.
func running(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func TestMemoryRenewsBeforeTheThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Memory(Options{Threshold: 10 * day})
		if err != nil {
			t.Fatal(err)
		}
		running(t, s)
		first := s.Status().Facts
		time.Sleep(lifetime - 10*day - time.Hour)
		synctest.Wait()
		if got := s.Status(); got.Loads != 1 {
			t.Fatalf("%d certificates, the first %v before its end", got.Loads, time.Until(first.NotAfter))
		}
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		got := s.Status()
		if got.Loads != 2 || got.Facts.Fingerprint == first.Fingerprint || got.Facts.Expires(time.Now(), lifetime-day) {
			t.Errorf("%d certificates, this one until %v, want the second, for a year", got.Loads, got.Facts.NotAfter)
		}
	})
}

func TestMemoryNoticesThatTheClockWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead time.Duration
		s, err := Memory(Options{Now: func() time.Time { return time.Now().Add(ahead) }})
		if err != nil {
			t.Fatal(err)
		}
		ahead = lifetime + day
		running(t, s)
		time.Sleep(look)
		synctest.Wait()
		if got := s.Status().Facts; got.Expired(s.Now()) {
			t.Errorf("the certificate expired at %v, it is %v", got.NotAfter, s.Now())
		}
	})
}

func TestMemoryWithALongThresholdRenewsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Memory(Options{Threshold: 2 * lifetime})
		if err != nil {
			t.Fatal(err)
		}
		running(t, s)
		time.Sleep(lifetime)
		synctest.Wait()
		if got := s.Status().Loads; got != 1 {
			t.Errorf("%d certificates in a year", got)
		}
	})
}

func TestMemorySaysWhatItMade(t *testing.T) {
	var logged bytes.Buffer
	s, err := Memory(Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	facts := s.Status().Facts
	if facts.Key != "ECDSA P-256" || !facts.SelfSigned || !facts.NotBefore.Before(time.Now()) {
		t.Errorf("facts are %+v", facts)
	}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		if !slices.Contains(facts.Names, name) {
			t.Errorf("names are %q, want %s among them", facts.Names, name)
		}
	}
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, facts.Fingerprint) || strings.Contains(got, "PRIVATE") {
		t.Errorf("logged %s", got)
	}
}
