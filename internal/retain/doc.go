// Package retain keeps the newest accepted revision of every object in the state
// directory, and gives them back to the process that starts next.
//
// What is kept is on the disk before it is published, unless the disk takes too long:
// a full, slow or read-only one delays nothing, and is a warning and a metric. Nothing
// is kept of what is gone, and of Secrets no earlier revision.
//
// What comes back is an input like a document: decoded and validated anew, judged by
// acceptance, and decoded at all only where it is asked for.
package retain
