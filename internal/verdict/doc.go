// Package verdict says of every object what became of it and why.
//
// Functions that decide over an object return a Result: either a contribution or
// an exclusion with a Reason; the zero Result is neither and is reported as
// Unexplained, so nothing can be left out in silence. Reasons are an enumerated,
// documented set. Steps of several stages are joined into one Verdict when it is
// read; verdicts never feed back into evaluation.
package verdict
