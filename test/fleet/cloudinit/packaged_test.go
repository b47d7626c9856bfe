// Package cloudinit tests that user data makes real programs into safe forward proxies.
package cloudinit

import (
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/cloudinit"
)

var request = cloudinit.Request{Instance: "px-5f1c", Port: 3128, Scheme: "http", Username: "crawler", Password: "s3cret"}

// TestPackagedProxies starts what user data describes, in namespaces, and asks.
func TestPackagedProxies(t *testing.T) {
	for program, write := range map[string]func(cloudinit.Request) ([]byte, error){"squid": cloudinit.Squid, "tinyproxy": cloudinit.Tinyproxy} {
		t.Run(program, func(t *testing.T) {
			data, err := write(request)
			if err != nil {
				t.Fatal(err)
			}
			answers := ask(t, unpack(t, data, program), program)
			for _, question := range []string{"with credentials", "through a tunnel"} {
				if !strings.Contains(answers[question], "status 200") || !strings.Contains(answers[question], "Host: 44.55.66.1") {
					t.Errorf("%s: %s", question, answers[question])
				}
			}
			for question, answer := range answers {
				for _, header := range []string{"Via:", "X-Forwarded-For:", "Forwarded:", "Proxy-Authorization:"} {
					if strings.Contains(answer, header) {
						t.Errorf("%s: the target is told %s\n%s", question, header, answer)
					}
				}
				if strings.HasPrefix(question, "to ") && (strings.Contains(answer, "status 200") || strings.Contains(answer, "Host:")) {
					t.Errorf("%s: it is let through\n%s", question, answer)
				}
			}
			for _, question := range []string{"without credentials", "with a wrong password"} {
				if refused := strings.Contains(answers[question], "status 407") || strings.Contains(answers[question], "status 401"); !refused {
					t.Errorf("%s: %s", question, answers[question])
				}
			}
		})
	}
}

// unpack writes the files of a cloud-config below a directory, as the program's user.
func unpack(t *testing.T, data []byte, program string) string {
	t.Helper()
	var config struct {
		Files []struct{ Path, Permissions, Encoding, Content string } `yaml:"write_files"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range config.Files {
		content := []byte(f.Content)
		if f.Encoding == "b64" {
			var err error
			if content, err = base64.StdEncoding.DecodeString(f.Content); err != nil {
				t.Fatal(err)
			}
		}
		mode, err := strconv.ParseUint(f.Permissions, 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, hereUser(content, program), os.FileMode(mode)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// hereUser puts nobody where the package tinyproxy would have made a user.
func hereUser(content []byte, program string) []byte {
	if program != "tinyproxy" {
		return content
	}
	return []byte(strings.NewReplacer(
		"User tinyproxy", "User nobody", "Group tinyproxy", "Group nogroup", `skuid != "tinyproxy"`, `skuid != "nobody"`,
	).Replace(string(content)))
}

// ask returns what each question of the script got.
func ask(t *testing.T, root, program string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "testdata/instance.sh", root, program)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "no_proxy=", "NO_PROXY=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the script ended with %v:\n%s", err, out)
	}
	answers := map[string]string{}
	for part := range strings.SplitSeq(string(out), "== ") {
		if question, answer, ok := strings.Cut(part, "\n"); ok {
			answers[question] = answer
		}
	}
	if len(answers) < 10 {
		t.Fatalf("only %d answers:\n%s", len(answers), out)
	}
	t.Logf("%s", out)
	return answers
}
