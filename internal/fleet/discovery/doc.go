// Package discovery answers those who look for a proxy: it turns HTTP requests into calls
// of a store of leases, and what the store says into JSON.
//
// A request is read strictly: what is not understood is refused with a code, a field and
// a remedy in one line, never ignored. Credentials of a proxy are in the answer to whom a
// lease on it is granted, and nowhere else: not in lists, logs or errors. A request blocks
// as long as the store does, and up to [MaxWait] where it asks to wait.
package discovery
