package pgwire

import "fmt"

// MalformedError is a message that breaks the protocol's rules; what follows it in the
// stream has no meaning. PostgreSQL's SQLSTATE for it is 08P01.
type MalformedError struct {
	What    string // what is malformed, for example "startup packet"
	Offset  int    // where in it, in bytes from its first
	Problem string // what is wrong there; holds no bytes of the message
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("%s: byte %d: %s", e.What, e.Offset, e.Problem)
}

// TooLongError is a startup packet longer than PostgreSQL accepts, as the sender
// announced it or as Append would have made it. Something else than a PostgreSQL client
// usually spoke: 0x16 as the first byte is TLS, letters are HTTP.
type TooLongError struct {
	Length uint32 // announced length, its own four bytes included
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("startup packet of %d bytes: at most %d are allowed", e.Length, MaxPacket)
}

// UnsupportedVersionError is a startup packet of a protocol other than 3.x.
// PostgreSQL's SQLSTATE for it is 0A000.
type UnsupportedVersionError struct{ Version Version }

func (e *UnsupportedVersionError) Error() string {
	return fmt.Sprintf("protocol %s is not supported: connect with protocol 3", e.Version)
}
