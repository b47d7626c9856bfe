package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

func setBackends(to *[]discovery.Backend, values []string) error {
	if len(values) == 0 {
		return nil
	}
	backends, errs := discovery.ParseStatic(strings.Join(values, ","))
	*to = backends
	if len(errs) > 0 {
		return Errors(errs)
	}
	return nil
}

func setDomain(to *string, values []string) error {
	if len(values) == 0 {
		return nil
	}
	v, err := one(values)
	if err != nil {
		return err
	}
	if len(validation.IsDNS1123Subdomain(strings.ToLower(v))) > 0 {
		return errors.New("must be a domain without a dot before it, for example db.example.com")
	}
	*to = v
	return nil
}

func setOptionalAddress(to *string, values []string) error {
	if len(values) == 0 {
		return nil
	}
	var address netip.Addr
	err := setAddress(&address, values)
	*to = address.String()
	return err
}

func setPort(to *int, values []string) error {
	return setNumber(to, values, "a port", 0, 65535)
}

// synonym sets the choice that a value is a name of. Case does not matter.
func synonym[T ~string](to *T, values []string, names map[string]T, remedy string) error {
	if len(values) == 0 {
		return nil
	}
	v, err := one(values)
	if err != nil {
		return err
	}
	choice, known := names[strings.ToLower(v)]
	if !known {
		return errors.New(remedy)
	}
	*to = choice
	return nil
}

func setRuntime(to *Runtime, values []string) error {
	return synonym(to, values, map[string]Runtime{
		"kubernetes": RuntimeKubernetes, "k8s": RuntimeKubernetes,
		"container": RuntimeContainer, "docker": RuntimeContainer,
		"vm": RuntimeVM, "virtual-machine": RuntimeVM, "bare-metal": RuntimeVM,
	}, "must be one of kubernetes, container, vm")
}

func checkDatabaseType(values []string) error {
	v, err := one(values)
	if err == nil && v != "postgresql" {
		err = errors.New("must be postgresql; nothing else is served")
	}
	return err
}

// detectRuntime finds out what this process runs in.
func detectRuntime(exists func(path string) bool) Runtime {
	switch {
	case exists("/var/run/secrets/kubernetes.io/serviceaccount"):
		return RuntimeKubernetes
	case exists("/.dockerenv"):
		return RuntimeContainer
	}
	return RuntimeVM
}

func onDisk(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// checkReadable returns what is wrong with the path of a PEM file, if anything.
func checkReadable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot be read: %w; name an existing PEM file", errors.Unwrap(err))
	}
	return f.Close()
}
