package gcp

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// What goes into a path is checked first; the client escapes nothing.
var (
	// With the prefix of a domain: example.com:my-project.
	projectForm = regexp.MustCompile(`^([a-z][-a-z0-9.]{0,61}:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$`)
	nameForm    = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// location is where an instance is, or would be.
type location struct{ project, zone, name string }

func (l location) String() string {
	return "projects/" + l.project + "/zones/" + l.zone + "/instances/" + l.name
}

// parseID reads an ID, in which the project may be missing.
func parseID(id, project string) (location, error) {
	at := location{project: project}
	rest := id
	if after, found := strings.CutPrefix(id, "projects/"); found {
		at.project, rest, _ = strings.Cut(after, "/")
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 4 || parts[0] != "zones" || parts[2] != "instances" {
		return at, fmt.Errorf("%w: ID %q is not projects/PROJECT/zones/ZONE/instances/NAME", provider.ErrPermanent, id)
	}
	at.zone, at.name = parts[1], parts[3]
	if err := at.check(); err != nil {
		return at, fmt.Errorf("ID %q: %w", id, err)
	}
	return at, nil
}

// check tells what of a location cannot be.
func (l location) check() error {
	switch {
	case l.project == "":
		return fmt.Errorf("%w: no project: give --gcp-project, or project in the Secret of spec.providerConfigRef", provider.ErrPermanent)
	case !projectForm.MatchString(l.project):
		return fmt.Errorf("%w: project %q is no project ID: give 6 to 30 lower-case letters, digits and dashes", provider.ErrPermanent, l.project)
	case l.zone == "":
		return fmt.Errorf("%w: spec.zone is empty: give a zone such as europe-west1-b", provider.ErrPermanent)
	case !nameForm.MatchString(l.zone) || strings.Count(l.zone, "-") < 2:
		return fmt.Errorf("%w: spec.zone %q is no zone: give one such as europe-west1-b", provider.ErrPermanent, l.zone)
	case !nameForm.MatchString(l.name):
		return fmt.Errorf("%w: name %q is not 1 to 63 lower-case letters, digits and dashes", provider.ErrPermanent, l.name)
	}
	return nil
}

// region is the zone without its last part.
func (l location) region() string { return l.zone[:strings.LastIndexByte(l.zone, '-')] }
