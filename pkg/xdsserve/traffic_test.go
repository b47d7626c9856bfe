package xdsserve_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// backend starts a server that answers with its name, and returns its port.
func backend(t testing.TB, name string) int {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).Port
}

// freePort returns a port that nothing listened on a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func httpClient(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{Transport: trusting(&http.Transport{MaxIdleConnsPerHost: 32}), Timeout: 5 * time.Second}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// ask returns the answer of one request, "CODE body".
func ask(c *http.Client, url string) string {
	resp, err := c.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, body)
}

// load asks an URL 300 times a second until stopped.
type load struct {
	mu      sync.Mutex
	answers map[string]int
	news    chan struct{} // closed at the next new kind of answer
	total   int
	stop    func() map[string]int
}

func startLoad(t *testing.T, url string) *load {
	t.Helper()
	l := &load{answers: map[string]int{}, news: make(chan struct{})}
	c := httpClient(t)
	quit := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Second / 300)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				running.Go(func() { l.add(ask(c, url)) })
			}
		}
	})
	l.stop = sync.OnceValue(func() map[string]int {
		close(quit)
		running.Wait()
		return l.answers
	})
	t.Cleanup(func() { l.stop() })
	return l
}

func (l *load) add(answer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[answer]++
	l.total++
	close(l.news)
	l.news = make(chan struct{})
}

// more waits for n more answers.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	l.mu.Lock()
	goal := l.total + n
	l.mu.Unlock()
	l.wait(t, func() bool { return l.total >= goal })
}

// until waits for an answer.
func (l *load) until(t *testing.T, answer string) {
	t.Helper()
	l.wait(t, func() bool { return l.answers[answer] > 0 })
}

func (l *load) wait(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.After(patience); ; {
		l.mu.Lock()
		enough, total, news := done(), l.total, l.news
		l.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-news:
		case <-deadline:
			t.Fatalf("not enough of %d answers after %v", total, patience)
		}
	}
}

// only fails the test if there was any answer but these.
func (l *load) only(t *testing.T, allowed ...string) {
	t.Helper()
	answers := l.stop()
	total := 0
	for _, n := range answers {
		total += n
	}
	for _, a := range allowed {
		delete(answers, a)
	}
	if len(answers) > 0 {
		t.Errorf("of %d requests these failed: %v", total, answers)
	}
}
