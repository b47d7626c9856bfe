package render

import "strings"

// Finding is one thing that is wrong with a file or an object.
type Finding struct {
	Where   string // "shop/routes.yaml:18"
	Object  string // "httproute shop/search", or empty
	Field   string
	Message string
	// Warning findings are worth a look and fail nothing.
	Warning bool
}

// widestColumn is the most that one long name may push all lines to the right.
const widestColumn = 40

// Findings returns one line for each finding: where, which object, which field,
// what is wrong, and what would be right. They do not wrap, so that programs can
// read them line by line.
func Findings(s Style, all []Finding) string {
	where, object := 0, 0
	for _, f := range all {
		where = max(where, min(columns(f.Where), widestColumn))
		object = max(object, min(columns(f.Object), widestColumn))
	}
	var b strings.Builder
	for _, f := range all {
		b.WriteString(s.column(Plain, f.Where, where) + "  ")
		text, color := fielded(f.Field, f.Message), Red
		if f.Warning {
			text, color = "warning: "+text, Yellow
		}
		if object > 0 {
			b.WriteString(s.column(color, f.Object, object) + "  ")
		}
		b.WriteString(s.Text(text) + "\n")
	}
	return b.String()
}
