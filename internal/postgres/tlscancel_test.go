package postgres_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// libpq takes a cancel for failed when TLS ends without a word (close_notify).
func TestCancelInTLSEndsInOrder(t *testing.T) {
	store, err := tlsstore.Memory(tlsstore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, address := serve(t, postgres.Options{Resolver: table(t), TLS: store})
	plain, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := plain.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// TLS 1.2 shows the kinds of its records, and crypto/tls does not tell one end from another.
	var heard bytes.Buffer
	secured := tls.Client(overheard{plain, &heard}, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{tlsstore.ALPN}, MaxVersion: tls.VersionTLS12})
	packet, err := pgwire.AppendCancelRequest(nil, pgwire.Key{PID: 1, Secret: "1234"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secured.Write(packet); err != nil {
		t.Fatal(err)
	}
	if n, err := secured.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d bytes and %v, want an end", n, err)
	}
	const alert = 21
	if last := lastRecord(heard.Bytes()); last != alert {
		t.Errorf("the last record is of type %d, want an alert", last)
	}
}

// overheard is a connection whose incoming bytes are kept.
type overheard struct {
	net.Conn
	kept *bytes.Buffer
}

func (o overheard) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	o.kept.Write(p[:n])
	return n, err
}

// lastRecord returns the type of the last record of TLS.
func lastRecord(stream []byte) (kind byte) {
	const header = 5
	for len(stream) >= header {
		kind = stream[0]
		stream = stream[min(len(stream), header+int(binary.BigEndian.Uint16(stream[3:]))):]
	}
	return kind
}
