package model

import (
	"regexp/syntax"
	"unicode/utf8"
)

// MaxProgramSize bounds a regular expression, in RE2's own instructions. The
// proxies' bootstrap sets the same limit.
const MaxProgramSize = 32_768

// bigClass is what a class of many ranges, such as \pL, may cost RE2 while it
// compiles, with its memory limit in mind.
const bigClass = 30

// programSize is an upper bound of the instructions that RE2 needs. RE2 works on
// bytes, so that runes cost more there than in Go.
func programSize(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpRepeat:
		return max(re.Max, re.Min+1) * (programSize(re.Sub[0]) + 1)
	case syntax.OpCharClass:
		return min(len(re.Rune)+2, bigClass)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 10
	case syntax.OpLiteral:
		return literalSize(re)
	default:
		n := 2
		for _, sub := range re.Sub {
			n += programSize(sub)
		}
		return n
	}
}

func literalSize(re *syntax.Regexp) int {
	n := 1
	for _, r := range re.Rune {
		n += max(utf8.RuneLen(r), 1)
	}
	if re.Flags&syntax.FoldCase != 0 {
		n *= 3
	}
	return n
}
