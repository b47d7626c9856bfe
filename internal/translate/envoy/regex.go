package envoy

import (
	"regexp/syntax"
	"unicode/utf8"
)

// maxProgramSize bounds a regular expression, in RE2's own instructions; RE2
// refuses a pattern whose program would outgrow its 8 MiB budget, which is
// about this many, measured.
const maxProgramSize = 100_000

// programSize estimates how many instructions RE2 needs. RE2 works on bytes, so
// a class of runes costs more there than in Go.
func programSize(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpRepeat:
		return repeatSize(re)
	case syntax.OpCharClass:
		return classSize(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 10
	case syntax.OpLiteral:
		return literalSize(re.Rune)
	}
	n := 2
	for _, sub := range re.Sub {
		n += programSize(sub)
	}
	return n
}

func repeatSize(re *syntax.Regexp) int {
	times := max(re.Max, re.Min+1, 1)
	return times * (programSize(re.Sub[0]) + 1)
}

func classSize(ranges []rune) int {
	n := 1
	for i := 0; i+1 < len(ranges); i += 2 {
		n += utf8.RuneLen(max(ranges[i+1], 0)) + utf8.RuneLen(max(ranges[i], 0))
	}
	return n
}

func literalSize(runes []rune) int {
	n := 0
	for _, r := range runes {
		n += max(utf8.RuneLen(r), 1)
	}
	return n
}
