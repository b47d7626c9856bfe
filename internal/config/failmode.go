package config

import (
	"fmt"
	"strings"
)

// setFailModes reads "class=mode" pairs, separated by commas.
func setFailModes(to *FailModes, values []string) error {
	text, err := one(values)
	if err != nil {
		return err
	}
	out := FailModes{}
	classes := map[string]*bool{"certificates": &out.Certificates, "cas": &out.CAs, "access": &out.Access, "deletions": &out.Deletions}
	for pair := range strings.SplitSeq(text, ",") {
		class, mode, _ := strings.Cut(pair, "=")
		closes, known := classes[class]
		switch {
		case !known:
			return fmt.Errorf("has %q; must be class=mode pairs with each of the classes certificates, cas, access and deletions at most once", pair)
		case mode != "retain" && mode != "close":
			return fmt.Errorf("has mode %q for %s; must be retain or close", mode, class)
		}
		*closes = mode == "close"
		delete(classes, class)
	}
	*to = out
	return nil
}
