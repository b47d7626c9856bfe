package backend

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

func TestHTTPSaysWhatReachedIt(t *testing.T) {
	b, err := StartHTTP(t.Context(), "catalog", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.Addr.String()+"/a%20b?x=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "shop.example"
	req.Header.Set(MarkHeader, "rule-1")
	req.Header.Set(StatusHeader, "418")
	req.Header.Set(EchoPrefix+"Server", "teapot")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}

	a, err := ReadAnswer(body)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(a.Backend, " ", a.Host, " ", a.Path, " ", a.Query, " ", a.Marks, " ", resp.StatusCode, " ", resp.Header.Get("Server"))
	if want := "catalog shop.example /a%20b x=1 [rule-1] 418 teapot"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadAnswerRefusesOtherBodies(t *testing.T) {
	for _, body := range []string{"", "no healthy upstream", "{}", `{"backend":""}`} {
		if _, err := ReadAnswer([]byte(body)); err == nil {
			t.Errorf("%q passed for an answer", body)
		}
	}
}

func TestTCPGreetsAndEchoes(t *testing.T) {
	b, err := StartTCP(t.Context(), "ledger", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", b.Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "ping\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	for _, want := range []string{"ledger\n", "ping\n"} {
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}

	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := lines.ReadString('\n'); err == nil {
		t.Error("the connection outlived Close")
	}
}
