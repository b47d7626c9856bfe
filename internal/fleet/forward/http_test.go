package forward

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What reaches a target is the request, and nothing that tells of a proxy.
func TestATargetLearnsNothingOfTheProxy(t *testing.T) {
	heads := make(chan string, 1)
	target := listen(t, "tcp", "127.0.0.1:0", func(c *client) {
		var head strings.Builder
		for {
			line, err := c.in.ReadString('\n')
			head.WriteString(line)
			if err != nil || line == "\r\n" {
				break
			}
		}
		heads <- head.String()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: 5\r\nConnection: X-Theirs\r\nX-Theirs: 1\r\nX-Kept: 1\r\n\r\nok")
	})
	p := start(t, bob)
	resp, body := dial(t, p.address).send(request("GET", "http://"+target+"/a%2fb|c?x=%zz&y", bobs,
		"Connection: close, X-Mine\r\nProxy-Connection: close\r\nX-Mine: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 1\r\nX-Forwarded-For: 9.9.9.9\r\nCookie: a=b\r\n")).answer("GET")
	want := "GET /a%2fb|c?x=%zz&y HTTP/1.1\r\nHost: " + target + "\r\nCookie: a=b\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n"
	if got := <-heads; got != want {
		t.Errorf("the target got\n%s\nwant\n%s", got, want)
	}
	if body != "ok" || resp.Header.Get("X-Kept") == "" || resp.Header.Get("X-Theirs") != "" || resp.Header.Get("Keep-Alive") != "" || resp.Header.Get("Proxy-Status") != "" {
		t.Errorf("the client got %v %q", resp.Header, body)
	}
}

// A challenge keeps the connection, also after a request with content: browsers show
// their password on the same one.
func TestAChallengeKeepsTheConnection(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	p := start(t, bob)
	c := dial(t, p.address)
	for _, wrong := range []string{"", "Proxy-Authorization: Basic Ym9iOndyb25n\r\n", "Proxy-Authorization: Bearer x\r\n", bobs + bobs} {
		resp, _ := c.send(request("POST", target+"/x", wrong, "Content-Length: 5\r\n") + "hello").answer("POST")
		if resp.StatusCode != 407 || resp.Close || resp.Header.Get("Proxy-Authenticate") != `Basic realm="gatehouse", charset="UTF-8"` {
			t.Fatalf("%q is answered %s %v", wrong, resp.Status, resp.Header)
		}
	}
	if resp, _ := c.send(request("CONNECT", "example.org:443")).answer("CONNECT"); resp.StatusCode != 407 || resp.Close {
		t.Fatalf("CONNECT is answered %s, close %t", resp.Status, resp.Close)
	}
	if resp, body := c.send(request("POST", target+"/x", bobs, "Content-Length: 5\r\n") + "hello").answer("POST"); resp.StatusCode != 200 || body != "hello" {
		t.Errorf("the right password is answered %s %q", resp.Status, body)
	}
}

func TestRequestsOneAfterTheOther(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, b)
	})
	c := dial(t, start(t).address)
	c.send(request("GET", target+"/1") + request("POST", target+"/2", "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n0\r\n\r\n" + request("HEAD", target+"/3") +
		request("PUT", target+"/4", "Content-Length: 2\r\n") + "de" + request("DELETE", target+"/5", "Connection: close\r\n"))
	for _, want := range []string{"GET /1 ", "POST /2 abc", "HEAD", "PUT /4 de", "DELETE /5 "} {
		method, _, _ := strings.Cut(want, " ")
		resp, body := c.answer(method)
		if resp.StatusCode != 200 || body != want && method != "HEAD" {
			t.Fatalf("%s %q, want %q", resp.Status, body, want)
		}
	}
	c.expectEnd()
}

// A response passes piece by piece: what the target has said is not held back.
func TestAResponseStreams(t *testing.T) {
	next := make(chan struct{})
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
			}
		}
		w.Header().Set(http.TrailerPrefix+"X-Sum", "3")
	})
	c := dial(t, start(t).address).send(request("GET", target))
	_, content, _ := c.begin("GET")
	lines := bufio.NewScanner(content)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprintf("data: %d", i) || !lines.Scan() {
			t.Fatalf("line %d is %q, %v", i, lines.Text(), lines.Err())
		}
		next <- struct{}{}
	}
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after the end: %q, %v", lines.Text(), lines.Err())
	}
}

func TestTrailersPassBothWays(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Theirs")
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("X-Theirs", "got "+r.Trailer.Get("X-Mine"))
	})
	resp, body := dial(t, start(t).address).send(request("POST", target, "Transfer-Encoding: chunked\r\nTrailer: X-Mine\r\n") +
		"3\r\nabc\r\n0\r\nX-Mine: 7\r\n\r\n").answer("POST")
	if body != "abc" || resp.Trailer.Get("X-Theirs") != "got 7" {
		t.Errorf("%q, trailer %v", body, resp.Trailer)
	}
}

func TestContinueIsTheTargetsToSay(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	p := start(t)
	c := dial(t, p.address).send(request("POST", target+"/yes", "Expect: 100-continue\r\nContent-Length: 5\r\n"))
	if resp, _ := c.answer("POST"); resp.StatusCode != 100 {
		t.Fatalf("first %s", resp.Status)
	}
	if resp, body := c.send("hello").answer("POST"); resp.StatusCode != 200 || body != "hello" {
		t.Errorf("then %s %q", resp.Status, body)
	}
	c = dial(t, p.address).send(request("POST", target+"/no", "Expect: 100-continue\r\nContent-Length: 5\r\n"))
	if resp, _ := c.answer("POST"); resp.StatusCode != 413 || !resp.Close {
		t.Errorf("no: %s, close %t", resp.Status, resp.Close)
	}
	c.expectEnd()
}

func TestEarlyHintsPass(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "ok")
	})
	c := dial(t, start(t).address).send(request("GET", target))
	if resp, _ := c.answer("GET"); resp.StatusCode != 103 || resp.Header.Get("Link") == "" {
		t.Errorf("first %s %v", resp.Status, resp.Header)
	}
	if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "ok" {
		t.Errorf("then %s %q", resp.Status, body)
	}
}

// A response that breaks off is seen to: never does half of one look whole.
func TestAResponseThatBreaksOff(t *testing.T) {
	for name, head := range map[string]string{
		"with a length": "Content-Length: 100\r\n", "in chunks": "Transfer-Encoding: chunked\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			target := listen(t, "tcp", "127.0.0.1:0", func(c *client) {
				if _, err := http.ReadRequest(c.in); err == nil {
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head+"\r\n5\r\nhello\r\n")
				}
			})
			c := dial(t, start(t).address).send(request("GET", "http://"+target+"/"))
			_, content, _ := c.begin("GET")
			if b, err := io.ReadAll(content); err == nil {
				t.Errorf("%q looks whole", b)
			}
		})
	}
}

func TestOldClientsGetAResponseThatEndsWithTheConnection(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "hello")
	})
	c := dial(t, start(t).address).send("GET " + target + "/ HTTP/1.0\r\n\r\n")
	resp, body := c.answer("GET")
	if body != "hello" || len(resp.TransferEncoding) > 0 || !resp.Close {
		t.Errorf("%q, %v, close %t", body, resp.TransferEncoding, resp.Close)
	}
	c.expectEnd()
}

// A client that leaves takes its request with it.
func TestAClientThatLeavesEndsItsRequest(t *testing.T) {
	came, gone := make(chan struct{}), make(chan struct{})
	target := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
		close(gone)
	})
	c := dial(t, start(t).address).send(request("GET", target))
	<-came
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-gone
}

func TestALargeUploadThatNobodyWants(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusForbidden)
	})
	c := dial(t, start(t).address).send(request("POST", target, "Content-Length: 100000000\r\n"))
	go func() {
		piece := make([]byte, 1<<16)
		for range 1 << 9 { // some of it, for as long as it is taken
			if _, err := c.Write(piece); err != nil {
				return
			}
		}
	}()
	if resp, _, _ := c.begin("POST"); resp.StatusCode != 403 && resp.StatusCode != 502 {
		t.Errorf("%s", resp.Status)
	}
}

func TestAmbiguousRequestsReachNobody(t *testing.T) {
	target := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the target got %s %s", r.Method, r.URL) })
	p := start(t)
	for _, fields := range []string{
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 5\r\n",
		"Transfer-Encoding: xchunked\r\n", "Transfer-Encoding : chunked\r\n", "X: 1\r\n Content-Length: 5\r\n",
	} {
		c := dial(t, p.address).send(request("POST", target, fields) + "0\r\n\r\n" + request("GET", target+"/smuggled"))
		resp, _ := c.answer("POST")
		if resp.StatusCode != 400 || !resp.Close || !strings.HasPrefix(resp.Header.Get("Proxy-Status"), "px-1; error=http_request_error;") {
			t.Errorf("%q is answered %s %v", fields, resp.Status, resp.Header)
		}
		c.expectEnd()
	}
}

func TestContentThatIsBroken(t *testing.T) {
	target := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	c := dial(t, start(t).address).send(request("POST", target, "Transfer-Encoding: chunked\r\n") + "3\r\nabcXX\r\n0\r\n\r\n")
	if resp, body := c.answer("POST"); resp.StatusCode != 400 || !strings.Contains(body, "content") || !resp.Close {
		t.Errorf("%s %q", resp.Status, body)
	}
}

// A target that answers before it has read everything, and reads no more, is heard.
func TestAnAnswerComesBeforeTheEndOfTheRequest(t *testing.T) {
	over := make(chan struct{})
	target := listen(t, "tcp", "127.0.0.1:0", func(c *client) {
		if _, err := http.ReadRequest(c.in); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
			<-over
		}
	})
	defer close(over)
	c := dial(t, start(t).address)
	go func() {
		_, _ = io.WriteString(c.Conn, request("POST", "http://"+target, "Content-Length: 30000000\r\n")+strings.Repeat("x", 30000000))
	}()
	if _, body := c.answer("POST"); body != "early" {
		t.Errorf("%q", body)
	}
}

// What is for the proxy alone never passes, and everything else does, whatever it is
// called and however it is listed.
func TestWhatIsForTheProxyStaysHere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`X-[A-Z][a-z]{1,5}`), rapid.ID).Draw(t, "names")
		listed := rapid.SliceOf(rapid.SampledFrom(append(names, "close", "", "Keep-Alive"))).Draw(t, "listed")
		h := make(http.Header)
		for _, name := range append(names, hopByHop...) {
			h.Set(name, "1")
		}
		h["Connection"] = []string{strings.ToLower(strings.Join(listed, " ,\t")), "close"}
		removeHopByHop(h)
		for _, name := range names {
			if slices.Contains(listed, name) == (h.Get(name) == "1") {
				t.Fatalf("%s of %q: %q", name, listed, h.Get(name))
			}
		}
		for _, name := range hopByHop {
			if h.Get(name) != "" {
				t.Fatalf("%s passes", name)
			}
		}
	})
}
