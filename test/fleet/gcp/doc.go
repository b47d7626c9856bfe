// Package gcp runs the real gatehouse fleet with provider gcp against a service in
// another process's memory: killed at a call, with objects that change.
package gcp
