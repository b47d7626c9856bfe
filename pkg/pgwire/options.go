package pgwire

import (
	"slices"
	"strings"
)

// Setting is one "-c name=value", "-cname=value" or "--name=value" on the command line
// that the startup parameter "options" is.
type Setting struct {
	Name  string // as PostgreSQL reads it: unescaped, "-" turned to "_"
	Value string // unescaped

	start, end int // where it stands in the line
}

// Is tells whether the setting is that of name, which is ASCII. PostgreSQL compares
// names without case.
func (s Setting) Is(name string) bool {
	return len(s.Name) == len(name) && strings.EqualFold(s.Name, name)
}

// Settings returns the settings of a command line in its order, as a PostgreSQL server
// would: words end at white space, a backslash takes the next byte as it is, flags
// without a value can share a word with a last one that has one. Of equal names the last
// counts. What is no setting is passed over; the server will refuse it where it is wrong.
func Settings(line string) []Setting {
	var settings []Setting
	words := splitWords(line)
	for i := 0; i < len(words); i++ {
		option, known := findOption(words[i])
		switch {
		case words[i].text == "--":
			return settings // no flag stands after it
		case !known:
			continue
		case option.at < len(words[i].text):
			option.value, option.end = words[i].text[option.at:], words[i].end
		case i+1 == len(words):
			return settings // its value is missing
		default:
			i++
			option.value, option.end = words[i].text, words[i].end
		}
		if s, ok := option.setting(); ok {
			settings = append(settings, s)
		}
	}
	return settings
}

// RemoveSettings takes the settings away for which remove says so, with the white space
// that set each apart, and leaves every other byte as it is.
func RemoveSettings(line string, remove func(Setting) bool) string {
	for _, s := range slices.Backward(Settings(line)) {
		if remove(s) {
			line = cutOut(line, s.start, s.end)
		}
	}
	return line
}

// cutOut removes line[start:end] and the space on one side of it, unless a flag in the
// same word stays in front: then the space goes on to set that apart.
func cutOut(line string, start, end int) string {
	before, after := line[:start], line[end:]
	if before == "" || endsInSpace(before) {
		trimmed := strings.TrimLeft(after, space)
		if after == "" {
			before = trimRightSpace(before)
		}
		after = trimmed
	}
	return before + after
}

// space is white space in the words of C's isspace.
const space = " \t\n\v\f\r"

// endsInSpace tells whether text ends in white space that no backslash escapes.
func endsInSpace(text string) bool { return trimRightSpace(text) != text }

// trimRightSpace takes unescaped white space from the end of text.
func trimRightSpace(text string) string {
	trimmed := strings.TrimRight(text, space)
	backslashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if backslashes%2 == 1 && len(trimmed) < len(text) {
		trimmed = text[:len(trimmed)+1]
	}
	return trimmed
}

// word is one argument of a command line.
type word struct {
	text       string // unescaped
	raw        string
	start, end int // of raw in the line
}

// splitWords is what a server does to a command line first.
func splitWords(line string) []word {
	var words []word
	for i := 0; i < len(line); {
		if strings.IndexByte(space, line[i]) >= 0 {
			i++
			continue
		}
		start := i
		for i < len(line) && strings.IndexByte(space, line[i]) < 0 {
			if line[i] == '\\' {
				i++ // the next byte is taken as it is
			}
			i++
		}
		i = min(i, len(line))
		raw := line[start:i]
		words = append(words, word{text: unescape(raw), raw: raw, start: start, end: i})
	}
	return words
}

func unescape(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var text strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' {
			i++
		}
		if i < len(raw) {
			text.WriteByte(raw[i])
		}
	}
	return text.String()
}

// Flags of a PostgreSQL server's command line: those that take a value, and those that
// do not. "--name=value" is the flag "-" with a value.
const (
	valueFlags = "BCDcdfhkNprStvW-"
	plainFlags = "bEeFijlnOPsT"
)

// option is a flag that takes a value.
type option struct {
	flag       byte
	at         int // where its value begins in the unescaped word, if it is there
	start, end int // in the line
	value      string
}

// findOption returns the flag of a word that takes a value; it is the last of the word.
func findOption(w word) (option, bool) {
	if !strings.HasPrefix(w.text, "-") {
		return option{}, false
	}
	for i := 1; i < len(w.text); i++ {
		flag := w.text[i]
		switch {
		case strings.IndexByte(valueFlags, flag) >= 0:
			return option{flag: flag, at: i + 1, start: w.start + w.rawStart(i)}, true
		case strings.IndexByte(plainFlags, flag) < 0:
			return option{}, false // the server refuses it
		}
	}
	return option{}, false
}

// rawStart is where the unescaped byte i stands in raw; the first flag stands where its
// word does, so that no "-" remains of it.
func (w word) rawStart(i int) int {
	if i == 1 {
		return 0
	}
	at := 0
	for range i {
		if w.raw[at] == '\\' {
			at++
		}
		at++
	}
	return at
}

func (o option) setting() (Setting, bool) {
	name, value, found := strings.Cut(o.value, "=")
	if !found || (o.flag != 'c' && o.flag != '-') {
		return Setting{}, false
	}
	return Setting{
		Name: strings.ReplaceAll(name, "-", "_"), Value: value,
		start: o.start, end: o.end,
	}, true
}
