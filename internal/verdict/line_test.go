package verdict

import "testing"

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		`Service "a" is gone`:    `Service "a" is gone`,
		"größer 日本":              "größer 日本",
		"a\nb\x1b[31m\u202e\x7f": `a\nb\x1b[31m\u202e\x7f`,
		"a\xffb":                 `a�b`,
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
