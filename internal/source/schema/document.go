package schema

import "bytes"

// Document is one document of a file, not yet parsed.
type Document struct {
	// Text is the document without the comments and the marker that lead to it.
	Text []byte
	// Number counts the documents of the file that have content, from 1.
	Number int
	// Line is the line of the file on which the content starts, from 1.
	Line int

	start int // line of the file on which Text starts, from 1
}

// Split cuts a file into its documents. YAML documents are separated by lines
// "---" and "..."; JSON values may also follow each other directly. Documents
// without content (comments only) are left out. At most MaxDocuments+1 come back.
func Split(file []byte) []Document {
	file = bytes.TrimPrefix(file, []byte("\xef\xbb\xbf"))
	s := splitter{line: 1, chunkLine: 1}
	for len(file) > 0 && len(s.out) <= MaxDocuments {
		text, rest := cutLine(file)
		s.add(text)
		file = rest
	}
	s.flush()
	return s.out
}

// cutLine returns the first line with its line end, and what follows.
func cutLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1], b[i+1:]
	}
	return b, nil
}

// splitter collects lines into chunks; a chunk is a slice of the file.
type splitter struct {
	out       []Document
	chunk     []byte
	chunkLine int  // where the chunk starts
	content   int  // first line with content; 0 while there is none
	marked    bool // the chunk has its marker
	whole     bool // the chunk has directives or content on its marker's line
	line      int
}

func (s *splitter) add(line []byte) {
	switch marker, inline := markerOf(line); {
	case marker == "---":
		// Directives stand before the marker of the document that they are for.
		if s.marked || s.content != 0 || !s.whole {
			s.flush()
		}
		s.marked, s.whole = true, s.whole || inline
		s.append(line, inline)
	case marker == "...":
		s.flush()
		s.line++
		s.chunkLine = s.line
		return
	default:
		s.whole = s.whole || line[0] == '%' && s.content == 0
		s.append(line, !isBlank(line))
	}
	s.line++
}

func (s *splitter) append(line []byte, content bool) {
	if len(s.chunk) == 0 {
		s.chunk, s.chunkLine = line, s.line
	} else {
		s.chunk = s.chunk[:len(s.chunk)+len(line)] // lines of a chunk are adjacent in the file
	}
	if content && s.content == 0 {
		s.content = s.line
		if !s.whole {
			s.chunk, s.chunkLine = line, s.line
		}
	}
}

func (s *splitter) flush() {
	if s.content != 0 {
		whole := Document{Text: s.chunk, Line: s.content, start: s.chunkLine}
		for doc := range splitJSON(whole) {
			doc.Number = len(s.out) + 1
			s.out = append(s.out, doc)
		}
	}
	s.chunk, s.content, s.marked, s.whole = nil, 0, false, false
}

// markerOf tells whether a line is a document marker, and whether content
// follows on the same line.
func markerOf(line []byte) (marker string, content bool) {
	for _, m := range []string{"---", "..."} {
		rest, ok := bytes.CutPrefix(line, []byte(m))
		if ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0) {
			return m, m == "---" && !isBlank(rest)
		}
	}
	return "", false
}

// isBlank reports whether a line has no content: white space, comment, directive.
func isBlank(line []byte) bool {
	if len(line) > 0 && line[0] == '%' {
		return true
	}
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}
