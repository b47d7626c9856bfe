package pgwire

import "encoding/binary"

// Lengths of a Key's Secret, in bytes: up to protocol 3.1 it has four.
const (
	MinSecret = 4
	MaxSecret = 256
)

// Key is what a backend gives a session in BackendKeyData, and what a CancelRequest
// shows to end what that session does. Keys can be compared and index a map. A Secret is
// a secret: no log may hold it.
type Key struct {
	PID    uint32 // the backend's process, in its own words
	Secret string // MinSecret to MaxSecret raw bytes
}

// decodeKey reads the body of a CancelRequest.
func decodeKey(body []byte) (Key, error) {
	key, ok := keyOf(body)
	if !ok {
		return Key{}, malformedPacket(minPacket, "the key is not a process and a secret of 4 to 256 bytes")
	}
	return key, nil
}

// keyOf reads what BackendKeyData and CancelRequest have in common.
func keyOf(body []byte) (Key, bool) {
	if len(body) < 4+MinSecret || len(body) > 4+MaxSecret {
		return Key{}, false
	}
	return Key{PID: binary.BigEndian.Uint32(body), Secret: string(body[4:])}, true
}

func (k Key) appendTo(out []byte) ([]byte, error) {
	if len(k.Secret) < MinSecret || len(k.Secret) > MaxSecret {
		return nil, malformedPacket(minPacket+4, "the secret has not 4 to 256 bytes")
	}
	return append(binary.BigEndian.AppendUint32(out, k.PID), k.Secret...), nil
}

// AppendCancelRequest adds a CancelRequest for key to dst. A Secret of another length
// than MinSecret to MaxSecret is a MalformedError.
func AppendCancelRequest(dst []byte, key Key) ([]byte, error) {
	return Packet{Kind: CancelRequest, Key: key}.Append(dst)
}
