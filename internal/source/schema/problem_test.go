package schema

import (
	"strings"
	"testing"
)

func TestLongPathsAreShownByTheirEnds(t *testing.T) {
	deep := "spec" + strings.Repeat(".a", 500) + ".end"
	got := Problem{Reason: LimitExceeded, Field: deep}.Step().Field
	if len(got) > maxPath || !strings.HasPrefix(got, "spec.a.a") || !strings.HasSuffix(got, ".a.end") || !strings.Contains(got, "…") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if short := "spec.rules[0].name"; shortPath(short) != short {
		t.Errorf("%s becomes %s", short, shortPath(short))
	}
}

func TestShapesHaveTheirArticle(t *testing.T) {
	for text, want := range map[string]string{"7\n": "an integer is no", "- a\n": "a list is no", "true\n": "a boolean is no"} {
		docs := Split([]byte(text))
		got := New(Options{}).Decode(docs[0], nil)[0].Problems[0].Message
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}
