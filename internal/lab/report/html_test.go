package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report/reporttest"
)

// results are those that all tests of a page are about.
func results() map[string]lab.Result {
	return map[string]lab.Result{
		"seed": reporttest.Seed(), "rollout": reporttest.Rollout(), "large": reporttest.Large(),
		"hostile": reporttest.Hostile(), "empty": {},
	}
}

func pageOf(t *testing.T, r lab.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPagesAreWellFormedAndSmall(t *testing.T) {
	for name, r := range results() {
		page := pageOf(t, r)
		if len(page) > 2<<20 {
			t.Errorf("%s: %d bytes, at most 2 MB", name, len(page))
		}
		wellFormed(t, name, page)
	}
}

// TestPageEscapes: names are text on the page, and no control character is left.
func TestPageEscapes(t *testing.T) {
	page := pageOf(t, reporttest.Hostile())
	if found := regexp.MustCompile(`(?i)<(script|link|img|iframe|b on)|@import|url\([^#]|=["']?javascript:`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
	if strings.ContainsAny(page, "\x1b\x07\u202e\r") || !strings.Contains(page, `\u001b[2J`) {
		t.Error("control characters are not written out")
	}
}

// wellFormed checks that every element is closed.
func wellFormed(t *testing.T, name, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: the page is not well-formed: %v", name, err)
			return
		}
	}
}
