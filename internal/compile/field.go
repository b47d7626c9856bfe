package compile

import "strconv"

// indexed is the path of an element of a list.
func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
