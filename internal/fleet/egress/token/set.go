package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/username"
)

// Holder is who has a token.
type Holder struct {
	// Name is 1 to 63 letters, digits, dots, dashes and underscores.
	Name string
	// Limit has the attributes and the namespace that each of its requests is limited to.
	Limit username.Wish
}

// Set are all tokens, by their sums. It is not changed once it is made.
type Set struct{ bySum map[[sha256.Size]byte]Holder }

// Len is how many there are.
func (s Set) Len() int { return len(s.bySum) }

// Find returns whose token a password is.
func (s Set) Find(password string) (Holder, bool) {
	h, ok := s.bySum[sha256.Sum256([]byte(password))]
	return h, ok
}

var names = regexp.MustCompile(`^[a-zA-Z0-9]([-_.a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$`)

// New makes a token, and the line of the file for it.
func New(name, selector string) (token, line string, err error) {
	h := Holder{Name: name}
	if err := h.check(); err != nil {
		return "", "", err
	}
	if h.Limit, err = limit(selector); err != nil {
		return "", "", err
	}
	b := make([]byte, sha256.Size)
	_, _ = rand.Read(b) // which never fails
	token = "ghe_" + base64.RawURLEncoding.EncodeToString(b)
	sum := sha256.Sum256([]byte(token))
	line = name + " " + hex.EncodeToString(sum[:])
	if selector != "" {
		line += " " + h.Limit.String()
	}
	return token, line, nil
}

func (h Holder) check() error {
	if !names.MatchString(h.Name) {
		return fmt.Errorf("%.64q is no name of a token: 1 to 63 letters, digits, dots, dashes and underscores, for example crawler", h.Name)
	}
	return nil
}

// limit reads the selector of a token.
func limit(text string) (username.Wish, error) {
	if text == "" {
		return username.Wish{}, nil
	}
	w, err := username.Parse(text)
	if e, ok := errors.AsType[*username.HintError](err); ok {
		return w, errors.New("selector: " + e.Text)
	}
	if w.Session != "" || w.Target != "" || w.TTL != 0 || len(w.Selector) == 0 && w.Namespace == "" {
		return w, fmt.Errorf("selector %.64q: a token is limited to attributes and ns, for example country=de,ns=crawl", text)
	}
	return w, nil
}

// LimitError is a request for what a token is not for; its text is ASCII.
type LimitError struct{ Holder, Key, Want, Limit string }

func (e *LimitError) Error() string {
	return fmt.Sprintf("user name: the token of %s is limited to %s=%s: leave %s=%s out", e.Holder, e.Key, e.Limit, e.Key, e.Want)
}

// Limited returns a wish with what the token is limited to, or a *[LimitError].
func (h Holder) Limited(w username.Wish) (username.Wish, error) {
	if ns := h.Limit.Namespace; ns != "" {
		if w.Namespace != "" && w.Namespace != ns {
			return w, &LimitError{h.Name, "ns", w.Namespace, ns}
		}
		w.Namespace = ns
	}
	if len(h.Limit.Selector) == 0 {
		return w, nil
	}
	all := maps.Clone(h.Limit.Selector)
	for key, value := range w.Selector {
		if only, limited := all[key]; limited && only != value {
			return w, &LimitError{h.Name, key, value, only}
		}
		all[key] = value
	}
	w.Selector = all
	return w, nil
}

// Parse reads a file of tokens: NAME SHA256 [key=value,...] in each line that is neither
// empty nor a comment. Its error joins one for each bad line, with its number.
func Parse(text string) (Set, error) {
	s := Set{bySum: make(map[[sha256.Size]byte]Holder)}
	named := make(map[string]int)
	var errs []error
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := s.add(line, n, named); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
		}
	}
	if len(errs) > 0 {
		return Set{}, errors.Join(errs...)
	}
	return s, nil
}

// add takes a line in. A wrong sum is not repeated: it may be a token.
func (s Set) add(line string, n int, named map[string]int) error {
	fields := strings.Fields(line)
	if len(fields) < 2 || len(fields) > 3 {
		return errors.New("it is not NAME SHA256 [key=value,...]: 'gatehouse egress token NAME' prints a line")
	}
	h := Holder{Name: fields[0]}
	if err := h.check(); err != nil {
		return err
	}
	sum, err := hex.DecodeString(fields[1])
	if err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("the second word of %s is not a SHA-256 in 64 hexadecimal digits: 'gatehouse egress token %s' prints one", h.Name, h.Name)
	}
	if len(fields) == 3 {
		if h.Limit, err = limit(fields[2]); err != nil {
			return err
		}
	}
	if before, twice := named[h.Name]; twice {
		return fmt.Errorf("%s is in line %d already: give each token a name of its own", h.Name, before)
	}
	if other, twice := s.bySum[[sha256.Size]byte(sum)]; twice {
		return fmt.Errorf("%s has the token of %s: make one of its own", h.Name, other.Name)
	}
	named[h.Name] = n
	s.bySum[[sha256.Size]byte(sum)] = h
	return nil
}
