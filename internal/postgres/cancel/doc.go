// Package cancel finds the backends that a PostgreSQL CancelRequest is meant for, and
// says who asks too often. It turns the key of a session, as its backend gave it, into
// the target of that session. It opens no connection, reads no clock and logs nothing;
// nothing here blocks but for a mutex that is held for one look-up.
//
// A key is the only proof a canceller has, so look-ups tell nothing about other keys:
// the index is a hash of the whole key under a random seed, and what it finds is
// compared in constant time. A miss at the index takes the same time whichever bytes
// of the key are right. How long a look-up waits for the mutex depends on the load only.
package cancel
