package prover

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// maxWords bounds what is repeated of Envoy's words, in bytes: of some messages it
// writes down all that it refuses.
const maxWords = 600

// where names the virtual host that a refusal is about, if one is known.
func (o owner) where() string {
	if o.part == "" {
		return ""
	}
	return fmt.Sprintf("virtual host %q: ", o.part)
}

// words is a refusal in one line.
func words(of owner, r xdsserve.Refusal) string {
	said := strings.ReplaceAll(withoutAlias(of.of.Group, r.Message), r.Name.Name, of.of.Name.Name)
	if r.Type == xdsserve.Secret {
		said = withoutContent(said)
	}
	return of.where() + oneLine(said) + "; change what it names"
}

// withoutContent cuts what Envoy writes down of a secret that it refuses.
func withoutContent(said string) string {
	for _, mark := range []string{"private_key", "inline_", "-----BEGIN"} {
		said, _, _ = strings.Cut(said, mark)
	}
	return said
}

func oneLine(said string) string {
	said = strings.Join(strings.FieldsFunc(said, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if len(said) > maxWords {
		said = strings.ToValidUTF8(said[:maxWords], "") + "…"
	}
	return said
}
