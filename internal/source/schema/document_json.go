package schema

import (
	"bytes"
	"iter"
)

// splitJSON yields the JSON objects that follow each other in a document, or the
// document itself if it is something else.
func splitJSON(doc Document) iter.Seq[Document] {
	return func(yield func(Document) bool) {
		for looksLikeJSON(doc.Text) {
			end := endOfObject(doc.Text)
			if end < 0 || !looksLikeJSON(doc.Text[end:]) {
				break
			}
			next := Document{Text: doc.Text[end:], start: doc.start + bytes.Count(doc.Text[:end], []byte("\n"))}
			next.Line = next.start + leadingLines(next.Text)
			doc.Text = doc.Text[:end]
			if !yield(doc) {
				return
			}
			doc = next
		}
		yield(doc)
	}
}

func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

// leadingLines counts the line ends before the first other character.
func leadingLines(text []byte) int {
	return bytes.Count(text[:len(text)-len(bytes.TrimLeft(text, " \t\r\n"))], []byte("\n"))
}

// endOfObject returns the offset after the first balanced {…}, minding strings,
// or -1.
func endOfObject(text []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
