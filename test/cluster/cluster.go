package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
)

// Cluster is a running control plane.
type Cluster struct {
	world
	authority *authority
	admin     []byte // kubeconfig
	config    *rest.Config
	client    kubernetes.Interface
	cmd       *exec.Cmd
	log       *os.File      // has no name
	ended     chan struct{} // closed when cmd was waited for

	mu      sync.Mutex // one order at a time
	orders  io.WriteCloser
	answers *json.Decoder
}

// Times that are enough for a machine that is busy with other tests.
const (
	startTime  = 3 * time.Minute
	orderTime  = 20 * time.Second
	removeTime = 20 * time.Second
)

// New starts a cluster and returns when its API server and its controllers work.
func New(ctx context.Context) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	programs, err := Programs()
	if err != nil {
		return nil, err
	}
	outside, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = outside.Close() }() // the cluster has its own
	c := &Cluster{Programs: programs, Port: outside.Addr().(*net.TCPAddr).Port}
	if err := c.prepare(); err != nil {
		return nil, fmt.Errorf("prepare keys and certificates: %w", err)
	}
	if err := c.launch(outside.(*net.TCPListener)); err != nil { //nolint:contextcheck // it outlives the start
		return nil, err
	}
	if err := errors.Join(c.await(ctx, c.works), ctx.Err()); err != nil {
		err = fmt.Errorf("the cluster does not start: %w; it says:\n%s", err, c.Log())
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// prepare makes what the programs and their clients trust each other by.
func (c *Cluster) prepare() (err error) {
	if c.authority, err = newAuthority(); err != nil {
		return err
	}
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"}
	server, err := c.authority.server(names, net.IPv4(127, 0, 0, 1), net.ParseIP(firstIP), net.ParseIP(advertise))
	if err != nil {
		return err
	}
	accounts, err := c.authority.client("service accounts")
	if err != nil {
		return err
	}
	administrator, err := c.authority.client("admin", "system:masters")
	if err != nil {
		return err
	}
	user := api.AuthInfo{ClientCertificateData: administrator.Certificate, ClientKeyData: administrator.Key}
	if c.admin, err = kubeconfig(c.server(), c.authority.pem, user, ""); err != nil {
		return err
	}
	c.Files = map[string][]byte{
		caFile: c.authority.pem, serverCert: server.Certificate, serverKey: server.Key,
		accountsKey: accounts.Key, controllersFile: c.admin,
	}
	if c.config, err = config(c.admin); err != nil {
		return err
	}
	c.client, err = kubernetes.NewForConfig(c.config)
	return err
}

// launch starts the first process and tells it what to make.
func (c *Cluster) launch(outside *net.TCPListener) error {
	listener, err := outside.File()
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	if c.log, err = nameless(); err != nil {
		return err
	}
	c.cmd = arena.Command(context.Background(), "/proc/self/exe")
	c.cmd.Env = append(os.Environ(), role+"=first")
	c.cmd.Stderr, c.cmd.ExtraFiles = c.log, []*os.File{listener}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start a process in namespaces of its own: %w (run as root)", err)
	}
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // says only that it was killed
	}()
	c.orders, c.answers = in, json.NewDecoder(out)
	if err := c.tell(c.world); err != nil {
		return errors.Join(fmt.Errorf("begin: %w; it says:\n%s", err, c.Log()), c.Close())
	}
	return nil
}

// nameless is a file that is gone when nobody has it open.
func nameless() (*os.File, error) {
	f, err := os.CreateTemp("", "gatehouse-cluster-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// Log is the end of what the programs said so far.
func (c *Cluster) Log() string {
	const most = 16 << 10
	info, err := c.log.Stat()
	if err != nil {
		return err.Error()
	}
	text := make([]byte, min(info.Size(), most))
	if _, err := c.log.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return err.Error()
	}
	return strings.ToValidUTF8(string(text), "")
}

// Close ends everything in the cluster and waits until it is gone.
func (c *Cluster) Close() error {
	_ = c.cmd.Process.Kill()
	<-c.ended
	return c.log.Close()
}

// Ended is closed when everything in the cluster has ended.
func (c *Cluster) Ended() <-chan struct{} { return c.ended }

// tell gives an order and waits for the answer.
func (c *Cluster) tell(what any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := time.AfterFunc(orderTime, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	if err := json.NewEncoder(c.orders).Encode(what); err != nil {
		return fmt.Errorf("the first process has ended: %w", err)
	}
	var a answer
	if err := c.answers.Decode(&a); err != nil {
		return fmt.Errorf("the first process does not answer: %w", err)
	}
	if a.Err != "" {
		return errors.New(a.Err)
	}
	return nil
}
