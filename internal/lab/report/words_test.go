package report_test

import (
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/report"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{report.Seconds(time.Duration(0)), "0"},
		{report.Seconds(400 * time.Microsecond), "0.4 ms"},
		{report.Seconds(999 * time.Millisecond), "999 ms"},
		{report.Seconds(999_600 * time.Microsecond), "1.0 s"},
		{report.Seconds(99_960 * time.Millisecond), "100 s"},
		{report.Integral(0.004), "0"},
		{report.Integral(0.996), "1.0"},
		{report.Integral(99.96), "100"},
		{report.Number(0), "0"},
		{report.Number(999), "999"},
		{report.Number(1000), "1,000"},
		{report.Number(1234567), "1,234,567"},
		{report.Number(-123456), "-123,456"},
		{report.Memory(1), "1 MiB"},
		{report.Memory(8 << 30), "8.0 GiB"},
		{report.Names(nil, 10), "none"},
		{report.Names([]string{"a", "b"}, 4), "a, b"},
		{report.Names([]string{"a", "b"}, 3), "a +1 more"},
		{report.Names([]string{"shop-6f7d9c-abcde"}, 9), "shop…bcde"},
		{report.Short("äöü", 3), "äöü"},
		{report.Short("äöüß", 3), "ä…ß"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
