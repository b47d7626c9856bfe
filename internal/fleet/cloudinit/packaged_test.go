package cloudinit

import (
	"strings"
	"testing"
)

func TestPackagedProgramsRefuseWhatTheyCannotDo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"scheme":         {func(r *Request) { r.Scheme = "socks5" }, "is set up for http only; use gatehouse-forward"},
		"lease key":      {func(r *Request) { r.LeaseKey = make([]byte, 32) }, "cannot verify credentials of leases"},
		"no credentials": {func(r *Request) { r.Username, r.Password = "", "" }, "needs credentials"},
	} {
		r := Request{Instance: "px-1", Port: 3128, Scheme: "http", Username: "crawler", Password: "s3cret"}
		c.change(&r)
		for program, write := range map[string]func(Request) ([]byte, error){"squid": Squid, "tinyproxy": Tinyproxy} {
			if _, err := write(r); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: error %v, want %q", program, name, err, c.want)
			}
		}
	}
	if _, err := Tinyproxy(Request{Port: 3128, Scheme: "http", Username: "a", Password: "b c"}); err == nil {
		t.Error("a password with a space was taken for tinyproxy")
	}
}
