package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems is how many problems of one file are reported.
const MaxProblems = 20

// Problem is one thing that is wrong with a script.
type Problem struct {
	// File is the name given to Parse; a built-in script's begins with "built-in ".
	File string
	// Line counts from 1; 0 is the file as a whole.
	Line int
	// Message names the step or field, its value, the cause and the remedy.
	Message string
}

// String returns the problem on one line: "FILE:LINE: MESSAGE".
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Error is what is wrong with a script. Every error of this package is an *Error.
type Error struct {
	// Problems are the first MaxProblems, in order of lines.
	Problems []Problem
	// More counts the problems beyond these.
	More int
}

// Error returns one line for each problem.
func (e *Error) Error() string {
	var lines []string
	for _, problem := range e.Problems {
		lines = append(lines, problem.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more like these", e.Problems[0].File, e.More))
	}
	return strings.Join(lines, "\n")
}

// add takes one more problem, or counts it.
func (e *Error) add(problem Problem) {
	if len(e.Problems) == MaxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, problem)
}

// err returns the problems in order of lines, or nil if there are none.
func (e *Error) err() error {
	if len(e.Problems) == 0 {
		return nil
	}
	slices.SortStableFunc(e.Problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return e
}
