package postgres

// CutUnreachable looks as often as a test has patience for.
var CutUnreachable = (*Router).cutUnreachable
