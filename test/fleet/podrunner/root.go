package podrunner

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// command is the pod's container, at the pod's address, in a root of its own.
func (l *life) command(ctx context.Context) (*exec.Cmd, error) {
	root, err := l.root(ctx)
	if err != nil {
		return nil, err
	}
	var args []string
	for _, a := range l.pod.Spec.Containers[0].Args {
		args = append(args, strings.Replace(a, "--listen=:", "--listen="+l.address+":", 1))
	}
	args = append(args, "--egress-address="+l.address)
	user := l.pod.Spec.SecurityContext
	cmd := exec.Command("/forward", append(args, l.Arguments...)...) //nolint:noctx // its end is graceful
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: uint32(*user.RunAsUser), Gid: uint32(*user.RunAsGroup)}, Pdeathsig: syscall.SIGKILL,
	}
	return cmd, nil
}

// root has the program and the Secrets that are mounted, which the pod's group can read,
// and nothing that its user can write.
func (l *life) root(ctx context.Context) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "gatehouse-pod-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // what is in it has modes of its own
		return "", err
	}
	if err := copyProgram(filepath.Join(dir, "forward"), l.Program); err != nil {
		return "", err
	}
	for i, v := range l.pod.Spec.Volumes {
		if err := l.mount(ctx, filepath.Join(dir, l.pod.Spec.Containers[0].VolumeMounts[i].MountPath), v); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func copyProgram(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

func (l *life) mount(ctx context.Context, at string, v core_v1.Volume) error {
	secret, err := l.Cluster.Client().CoreV1().Secrets(l.pod.Namespace).Get(ctx, v.Secret.SecretName, meta_v1.GetOptions{})
	if err != nil {
		return fmt.Errorf("volume %s: %w", v.Name, err)
	}
	// as a kubelet does it, so that all of a Secret changes at once
	const version = "..2026_11_30"
	if err := os.MkdirAll(filepath.Join(at, version), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(version, filepath.Join(at, "..data")); err != nil {
		return err
	}
	for key, content := range secret.Data {
		path := filepath.Join(at, version, key)
		if err := os.WriteFile(path, content, os.FileMode(*v.Secret.DefaultMode)); err != nil {
			return err
		}
		if err := os.Chown(path, 0, int(*l.pod.Spec.SecurityContext.FSGroup)); err != nil {
			return err
		}
		if err := os.Symlink("..data/"+key, filepath.Join(at, key)); err != nil {
			return err
		}
	}
	return nil
}
