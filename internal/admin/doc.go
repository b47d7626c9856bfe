// Package admin is the admin API: its JSON types, the HTTP handlers that serve
// it over a Reporter, and the client that commands use. It decides nothing.
package admin
