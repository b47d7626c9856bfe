// Package v1alpha1 is the protocol between Gatehouse and gRPC services that
// judge what it would serve: the messages, made from validator.proto, and the service.
// It does nothing by itself.
package v1alpha1

//go:generate go run ./generate
