package host

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// maxFolderName leaves room below the 255 bytes that file systems take.
const maxFolderName = 120

// folderName makes a Gateway's name one path element that no other Gateway has:
// the slash becomes "_"; bytes other than lower-case letters, digits, "-" and
// "." become "%XX", a leading "." too; a long name is cut and ends in its hash.
func folderName(g model.GatewayID) string {
	if g == "" {
		return "%"
	}
	var name strings.Builder
	for i, c := range []byte(g) {
		switch {
		case c == '/':
			name.WriteByte('_')
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' && i > 0:
			name.WriteByte(c)
		default:
			fmt.Fprintf(&name, "%%%02X", c)
		}
	}
	if name.Len() <= maxFolderName {
		return name.String()
	}
	return name.String()[:maxFolderName-33] + "~" + shortHash(string(g), 16)
}

// shortHash returns n bytes of the SHA-256 of text in hex.
func shortHash(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:n])
}

// startID tells the starts of processes apart, also those of other runs.
func startID() string {
	var id [4]byte
	rand.Read(id[:]) // never fails, by its documentation
	return hex.EncodeToString(id[:])
}
