package model

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// escapes are the parts of an expression that begin with a backslash: quoted text,
// characters by number, Unicode classes, and any other pair.
var escapes = regexp.MustCompile(`(?s)\\Q.*?(?:\\E|$)|\\x\{[0-9A-Fa-f]+\}|\\[0-7]{2,3}|\\[pP](?:\{[^}]*\}|.)|\\.`)

// beyondBytes returns the first part of an expression that Go knows and RE2 does
// not, where it works on bytes: a character by a number above 255, or a class by
// one of its longer names. Texts beyond ASCII match as the bytes of UTF-8.
func beyondBytes(pattern string) string {
	for _, part := range escapes.FindAllString(pattern, -1) {
		switch part[1] {
		case 'x', '0', '1', '2', '3', '4', '5', '6', '7':
			if !oneByte(part) {
				return part
			}
		case 'p', 'P':
			if !shortClass(strings.Trim(part[2:], "{}")) {
				return part
			}
		}
	}
	return ""
}

func oneByte(part string) bool {
	digits, base := part[1:], 8
	if digits[0] == 'x' {
		digits, base = strings.Trim(digits[1:], "{}"), 16
	}
	if digits == "" { // two digits follow
		return true
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return err == nil && n < 256
}

func shortClass(name string) bool {
	name = strings.TrimPrefix(name, "^")
	if name == "Any" {
		return true
	}
	if name == "Cn" || name == "LC" {
		return false
	}
	_, category := unicode.Categories[name]
	_, script := unicode.Scripts[name]
	return category || script
}
