// Package file watches files and directories of YAML and JSON and turns them into
// batches of objects: each document decoded and validated by package schema, one
// batch for each change.
//
// What it promises:
//   - A bad document is refused alone; its object's previous accepted revision
//     stays, and everything else advances.
//   - What a writer has not finished is not read: a file counts when it is closed
//     or renamed into place, or after a second of quiet. What is missing counts as
//     deleted only after it has been missing, unchanged, for 250 ms.
//   - A root that is missing deletes nothing: what it held stays in force until it
//     is back.
//   - A change costs the size of the file that changed; documents whose text is
//     the same are neither parsed nor validated again.
//   - A long file is decoded in parts, and other files get their turn between.
//   - Nothing on disk can block it: special files are never opened for reading,
//     loops of directories are entered once, sizes are bounded.
//
// On Linux it talks to inotify directly, not through fsnotify, whose public API
// does not tell when a file that was open for writing has been closed; elsewhere
// it uses fsnotify and the second of quiet.
package file
