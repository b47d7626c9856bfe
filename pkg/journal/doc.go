// Package journal keeps the newest value of each key in one file that only its owner
// can read: a line that names the format, then one line for each change. A change is
// appended and on the disk before Append returns; what a crash leaves of a last line
// is no record, and a damaged line loses that record alone.
//
// Values stay on the disk: a Journal holds in memory where they are. Lines of earlier
// values remain until Compact writes the file anew, so a caller who must be rid of one
// calls it. The file is bounded by Options.Max.
//
// It blocks as long as the disk does. One process at a time may use a file; what
// another does to it is noticed and not appended to.
package journal
