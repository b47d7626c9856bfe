// Package redis proves what becomes of leases in Redis when its server restarts, fails
// over, hangs or loses what it was told, with several stores that all grant.
package redis
