// Package lifecycle decides what becomes of a Proxy and its instance: from the object,
// its user data, what the provider answered and the time, to the next action. It is
// pure: it calls nothing, reads no clock, and the same input gives the same decision.
package lifecycle
