package config

import (
	"errors"
	"regexp"
)

// gcpProject is a project's ID, which may begin with a domain.
var gcpProject = regexp.MustCompile(`^([a-z][-a-z0-9.]{0,61}:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$`)

func setGCPProject(to *string, values []string) error {
	if err := setText(to, values); err != nil {
		return err
	}
	if *to != "" && !gcpProject.MatchString(*to) {
		return errors.New("must be a project's ID, which has 6 to 30 lower-case letters, digits and dashes; its name or number will not do")
	}
	return nil
}
