package peer

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// A question is, in network byte order:
//
//	offset  bytes  what
//	     0      3  "GHC"
//	     3      1  version
//	     4      8  time in milliseconds since 1970
//	    12     16  nonce
//	    28      2  n, the length of the key that is asked about: 8 to 260
//	    30      n  that key (process, secret), encrypted with AES-256 in counter mode
//	               that begins at the nonce
//	  30+n     32  HMAC-SHA256 of all before
//
// An answer is
//
//	0      1  version
//	1      1  verdict
//	2     32  HMAC-SHA256 of the question's nonce and the two bytes before
//
// The keys of the cipher and of each HMAC are derived from the shared one. Whoever
// answers tries every key it knows, and answers with the one that fits.
const (
	magic   = "GHC"
	version = 1

	headerSize = 30
	pidSize    = 4
	macSize    = sha256.Size
	answerSize = 2 + macSize
)

// Nonce is random and never used twice.
type Nonce [aes.BlockSize]byte

// Question asks for the cancel of the session with a key.
type Question struct {
	Time  time.Time // to the millisecond
	Nonce Nonce
	Key   pgwire.Key
}

// Verdict is a peer's answer.
type Verdict byte

// Verdicts.
const (
	NotMine   Verdict = iota + 1 // no session with this key
	Delivered                    // its server has acted on the cancel
	Failed                       // its server did not take the cancel
)

// Why a question is dropped, or an answer not believed.
var (
	errMalformed = errors.New("it is no question of a replica")
	errVersion   = errors.New("it is of a version that this replica does not speak")
	errForged    = errors.New("it is sealed with another key")
	errAnswer    = errors.New("the answer is not one of a replica with the same key")
)

// Secret is a shared key of SecretSize random bytes, and what is derived from it.
type Secret struct{ encrypt, question, answer []byte }

// SecretSize is the length of a shared key in bytes.
const SecretSize = 32

// NewSecret derives what questions and answers need from a shared key.
func NewSecret(shared [SecretSize]byte) (Secret, error) {
	derived, err := hkdf.Key(sha256.New, shared[:], nil, "gatehouse cancel peers 1", 3*SecretSize)
	if err != nil {
		return Secret{}, err
	}
	return Secret{encrypt: derived[:32], question: derived[32:64], answer: derived[64:]}, nil
}

// seal returns the packet of q. A Secret of its Key that is not of 4 to 256 bytes is an
// error.
func (s Secret) seal(q Question) ([]byte, error) {
	if n := len(q.Key.Secret); n < pgwire.MinSecret || n > pgwire.MaxSecret {
		return nil, errMalformed
	}
	n := pidSize + len(q.Key.Secret)
	out := make([]byte, headerSize, headerSize+n+macSize)
	copy(out, magic)
	out[3] = version
	binary.BigEndian.PutUint64(out[4:], uint64(q.Time.UnixMilli()))
	copy(out[12:], q.Nonce[:])
	binary.BigEndian.PutUint16(out[28:], uint16(n))
	out = binary.BigEndian.AppendUint32(out, q.Key.PID)
	out = append(out, q.Key.Secret...)
	if err := s.crypt(out[headerSize:], q.Nonce); err != nil {
		return nil, err
	}
	return append(out, mac(s.question, out)...), nil
}

// crypt encrypts or decrypts text in place.
func (s Secret) crypt(text []byte, nonce Nonce) error {
	block, err := aes.NewCipher(s.encrypt)
	if err != nil {
		return err
	}
	cipher.NewCTR(block, nonce[:]).XORKeyStream(text, text)
	return nil
}

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// open returns the question in a packet that readQuestion returned, and which of the
// secrets it is sealed with. The error is errForged if none.
func open(secrets []Secret, packet []byte) (Question, Secret, error) {
	body, sum := packet[:len(packet)-macSize], packet[len(packet)-macSize:]
	for _, s := range secrets {
		if !hmac.Equal(sum, mac(s.question, body)) {
			continue
		}
		q := Question{Time: time.UnixMilli(int64(binary.BigEndian.Uint64(body[4:]))), Nonce: Nonce(body[12:28])}
		text := append([]byte(nil), body[headerSize:]...)
		if err := s.crypt(text, q.Nonce); err != nil {
			return Question{}, Secret{}, err
		}
		q.Key = pgwire.Key{PID: binary.BigEndian.Uint32(text), Secret: string(text[pidSize:])}
		return q, s, nil
	}
	return Question{}, Secret{}, errForged
}

// readQuestion takes exactly one packet from r. It returns errMalformed, errVersion, or
// what went wrong with r. It allocates what a question needs, whatever r says.
func readQuestion(r io.Reader) ([]byte, error) {
	packet := make([]byte, headerSize, headerSize+pidSize+pgwire.MaxSecret+macSize)
	if _, err := io.ReadFull(r, packet[:4]); err != nil {
		return nil, err
	}
	switch {
	case string(packet[:3]) != magic:
		return nil, errMalformed
	case packet[3] != version:
		return nil, errVersion
	}
	if _, err := io.ReadFull(r, packet[4:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(packet[28:]))
	if n < pidSize+pgwire.MinSecret || n > pidSize+pgwire.MaxSecret {
		return nil, errMalformed
	}
	packet = packet[:headerSize+n+macSize]
	_, err := io.ReadFull(r, packet[headerSize:])
	return packet, err
}

// answer returns the packet that answers a question.
func (s Secret) answerTo(nonce Nonce, v Verdict) []byte {
	out := []byte{version, byte(v)}
	return append(out, mac(s.answer, nonce[:], out)...)
}

// verdict reads the packet that answers a question.
func (s Secret) verdict(nonce Nonce, packet [answerSize]byte) (Verdict, error) {
	v := Verdict(packet[1])
	if !hmac.Equal(packet[2:], mac(s.answer, nonce[:], packet[:2])) || packet[0] != version || v < NotMine || v > Failed {
		return 0, errAnswer
	}
	return v, nil
}
