package peer

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

func secret(t interface{ Fatal(...any) }, filling byte) Secret {
	s, err := NewSecret([SecretSize]byte(bytes.Repeat([]byte{filling}, SecretSize)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var anyQuestion = rapid.Custom(func(t *rapid.T) Question {
	return Question{
		Time:  time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "time")),
		Nonce: Nonce(rapid.SliceOfN(rapid.Byte(), len(Nonce{}), len(Nonce{})).Draw(t, "nonce")),
		Key: pgwire.Key{
			PID:    rapid.Uint32().Draw(t, "pid"),
			Secret: string(rapid.SliceOfN(rapid.Byte(), pgwire.MinSecret, pgwire.MaxSecret).Draw(t, "secret")),
		},
	}
})

// What is sealed comes out again with the same key, whatever other keys are tried too,
// in whatever pieces it comes, and whatever follows is left.
func TestQuestionsComeThrough(t *testing.T) {
	mine, other := secret(t, 1), secret(t, 2)
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion.Draw(t, "question")
		packet, err := mine.seal(q)
		if err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(append(bytes.Clone(packet), "rest"...))
		read, err := readQuestion(iotest.OneByteReader(r))
		if err != nil || !bytes.Equal(read, packet) || r.Len() != len("rest") {
			t.Fatalf("read %x of %x, %d bytes are left, %v", read, packet, r.Len(), err)
		}
		got, with, err := open([]Secret{other, mine}, read)
		if diff := cmp.Diff(q, got); diff != "" || err != nil || !bytes.Equal(with.question, mine.question) {
			t.Fatalf("%v, (-want +got):\n%s", err, diff)
		}
		if len(q.Key.Secret) >= 8 && bytes.Contains(packet, []byte(q.Key.Secret)) {
			t.Fatal("the key can be read on the wire")
		}
	})
}

// No packet in which a bit differs is a question, and none that is cut.
func TestQuestionsCannotBeChanged(t *testing.T) {
	s := secret(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		packet, err := s.seal(anyQuestion.Draw(t, "question"))
		if err != nil {
			t.Fatal(err)
		}
		bit := rapid.IntRange(0, 8*len(packet)-1).Draw(t, "bit")
		changed := bytes.Clone(packet)
		changed[bit/8] ^= 1 << (bit % 8)
		if read, err := readQuestion(bytes.NewReader(changed)); err == nil {
			if _, _, err := open([]Secret{s}, read); !errors.Is(err, errForged) {
				t.Fatalf("bit %d: %v", bit, err)
			}
		}
		cut := rapid.IntRange(0, len(packet)-1).Draw(t, "cut")
		if _, err := readQuestion(bytes.NewReader(packet[:cut])); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	})
}

func TestOtherVersionsAndProtocols(t *testing.T) {
	s := secret(t, 1)
	packet, err := s.seal(Question{Key: pgwire.Key{Secret: "four"}})
	if err != nil {
		t.Fatal(err)
	}
	next := bytes.Clone(packet)
	next[3] = version + 1
	long, short := bytes.Clone(packet), bytes.Clone(packet)
	long[28], short[28], short[29] = 0xff, 0, 7
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"version": {next, errVersion}, "http": {[]byte("GET / HTTP/1.1\r\n\r\n"), errMalformed},
		"long": {long, errMalformed}, "short": {short, errMalformed},
	} {
		if _, err := readQuestion(bytes.NewReader(c.raw)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	for _, secret := range []string{"", "abc", strings.Repeat("x", 257)} {
		if _, err := s.seal(Question{Key: pgwire.Key{Secret: secret}}); err == nil {
			t.Errorf("a secret of %d bytes is sealed", len(secret))
		}
	}
}

// An answer is believed for its question, with its key, as it was given; and no question
// is an answer.
func TestAnswers(t *testing.T) {
	s, other := secret(t, 1), secret(t, 2)
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion.Draw(t, "question")
		given := rapid.SampledFrom([]Verdict{NotMine, Delivered, Failed}).Draw(t, "verdict")
		packet := [answerSize]byte(s.answerTo(q.Nonce, given))
		if got, err := s.verdict(q.Nonce, packet); got != given || err != nil {
			t.Fatalf("got %v, %v, want %v", got, err, given)
		}
		bit := rapid.IntRange(0, 8*answerSize-1).Draw(t, "bit")
		changed, nonce := packet, q.Nonce
		changed[bit/8] ^= 1 << (bit % 8)
		nonce[bit%len(nonce)]++
		for name, err := range map[string]error{
			"changed":          second(s.verdict(q.Nonce, changed)),
			"of another":       second(s.verdict(nonce, packet)),
			"with another key": second(other.verdict(q.Nonce, packet)),
			"of no verdict":    second(s.verdict(q.Nonce, [answerSize]byte(s.answerTo(q.Nonce, 0)))),
			"beyond verdicts":  second(s.verdict(q.Nonce, [answerSize]byte(s.answerTo(q.Nonce, Failed+1)))),
		} {
			if !errors.Is(err, errAnswer) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	})
}

func second(_ Verdict, err error) error { return err }

// Whatever arrives is a question with the shared key or an error, and costs little.
func FuzzQuestion(f *testing.F) {
	s := secret(f, 1)
	good, err := s.seal(Question{Time: time.UnixMilli(1), Key: pgwire.Key{PID: 7, Secret: "four"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:40])
	f.Add([]byte("GHC\x02"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		packet, err := readQuestion(bytes.NewReader(raw))
		if err != nil {
			return
		}
		if cap(packet) > headerSize+pidSize+pgwire.MaxSecret+macSize {
			t.Errorf("%d bytes are allocated", cap(packet))
		}
		q, _, err := open([]Secret{s}, packet)
		if err != nil {
			return
		}
		again, err := s.seal(q)
		if err != nil || !bytes.Equal(again, packet) {
			t.Errorf("%x is opened to %+v and sealed to %x, %v", packet, q, again, err)
		}
	})
}

func freshNonce() (n Nonce) {
	_, _ = rand.Read(n[:])
	return n
}
