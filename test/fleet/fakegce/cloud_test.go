package fakegce_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

const (
	folder = "http://gce/compute/v1/projects/test-project/zones/europe-west1-b/instances"
	body   = `{"name":"px-a","machineType":"zones/europe-west1-b/machineTypes/e2-micro","disks":[{}],"networkInterfaces":[{"accessConfigs":[{}]}],"labels":{"proxy-operator-uid":"a"}}`
)

// ask makes one call and returns its status and text.
func ask(t *testing.T, c *fakegce.Cloud, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestALife: what the service says of an instance, second by second.
func TestALife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := fakegce.New(fakegce.Options{StageAfter: time.Second, RunAfter: 2 * time.Second, AddressAfter: time.Second, GoneAfter: time.Second})
		if status, text := ask(t, c, "POST", folder+"?requestId=1", body); status != 200 || !strings.Contains(text, `"RUNNING"`) {
			t.Fatalf("insert: %d %s", status, text)
		}
		for _, want := range []string{"PROVISIONING", "STAGING", "RUNNING", "RUNNING"} {
			_, text := ask(t, c, "GET", folder+"/px-a", "")
			address := strings.Contains(text, "natIP")
			if at := c.Machines()[0]; at.Status != want || address != (at.IP != "") {
				t.Errorf("%+v, %s; want %s", at, text, want)
			}
			time.Sleep(time.Second)
		}
		if c.Machines()[0].IP == "" {
			t.Error("it never got an address")
		}
		ask(t, c, "DELETE", folder+"/px-a", "")
		if at := c.Machines(); len(at) != 1 || at[0].Status != "STOPPING" {
			t.Errorf("being deleted: %v", at)
		}
		time.Sleep(time.Second)
		if status, text := ask(t, c, "GET", folder+"/px-a", ""); status != 404 || !strings.Contains(text, "notFound") {
			t.Errorf("gone: %d %s", status, text)
		}
	})
}

// TestRequestIDs: a repeat is answered by what the first has come to, and another
// request by the same ID is refused.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	c := fakegce.New(fakegce.Options{})
	_, first := ask(t, c, "POST", folder+"?requestId=1", body)
	status, again := ask(t, c, "POST", folder+"?requestId=1", body)
	if name := regexp.MustCompile(`operation-\d+`).FindString(first); status != 200 || name == "" || !strings.Contains(again, name) || !strings.Contains(again, "DONE") {
		t.Errorf("a repeat: %d %s; want the end of %s", status, again, first)
	}
	if status, text := ask(t, c, "POST", folder+"?requestId=1", strings.Replace(body, "px-a", "px-b", 1)); status != 400 || !strings.Contains(text, "requestId") {
		t.Errorf("another request: %d %s", status, text)
	}
	if status, text := ask(t, c, "POST", folder+"?requestId=2", body); status != 409 || !strings.Contains(text, "alreadyExists") {
		t.Errorf("the same name: %d %s", status, text)
	}
}

// TestQuota: the limit of the project refuses what is too much, and nothing else.
func TestQuota(t *testing.T) {
	t.Parallel()
	c := fakegce.New(fakegce.Options{Quota: 1})
	if status, text := ask(t, c, "POST", folder, body); status != 200 {
		t.Fatalf("the first: %d %s", status, text)
	}
	if status, text := ask(t, c, "POST", folder, strings.Replace(body, "px-a", "px-b", 1)); status != 403 || !strings.Contains(text, "quotaExceeded") {
		t.Errorf("the second: %d %s", status, text)
	}
}

// TestBroken: what nobody should do is noted.
func TestBroken(t *testing.T) {
	t.Parallel()
	c := fakegce.New(fakegce.Options{})
	c.Place("test-project", "europe-west1-b", "database", nil)
	ask(t, c, "POST", folder+"/database/stop", "")
	ask(t, c, "DELETE", folder+"/database", "")
	ask(t, c, "POST", folder, body)
	ask(t, c, "POST", strings.Replace(folder, "west1-b", "west1-c", 1), strings.ReplaceAll(body, "west1-b", "west1-c"))
	broken := strings.Join(c.Broken(), "\n")
	for _, want := range []string{"a call that is none of ours: POST", "a foreign instance was deleted:", "two instances of one UID and hash:"} {
		if !strings.Contains(broken, want) {
			t.Errorf("no %q in\n%s", want, broken)
		}
	}
}

// TestFaultsInOrder: skipped calls pass, so many are changed, and the rest pass again.
func TestFaultsInOrder(t *testing.T) {
	t.Parallel()
	c := fakegce.New(fakegce.Options{})
	ask(t, c, "POST", folder, body)
	c.Add(fakegce.Fault{Call: fakegce.Get, Name: "px-a", Skip: 1, Times: 2, Status: 500, Reason: "internalError"})
	for i, want := range []int{200, 500, 500, 200} {
		if status, _ := ask(t, c, "GET", folder+"/px-a", ""); status != want {
			t.Errorf("call %d: %d, want %d", i+1, status, want)
		}
	}
}
