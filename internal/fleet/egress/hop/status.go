package hop

import (
	"regexp"
	"strings"
)

// errorType is the parameter error of a member of Proxy-Status. Strings were taken out.
var errorType = regexp.MustCompile(`;\s*error\s*=\s*([a-z_]+)`)

var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// lastError is the error type that the nearest proxy told, which is the last (RFC 9209,
// 2); empty for none.
func lastError(members []string) string {
	found := errorType.FindAllStringSubmatch(quotedText.ReplaceAllString(strings.Join(members, ", "), `""`), -1)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1][1]
}
