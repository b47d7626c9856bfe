// Package render turns the values of the admin API into text for people: at most
// Width columns, readable without colour, and safe to show even when an object's
// fields hold control characters. It writes nowhere itself.
package render
