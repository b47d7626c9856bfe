package destination

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mail are the ports at which mail is sent; no setting opens them.
var mail = []uint16{25, 465, 587}

// DefaultPorts is the text of the ports that are open by default: the Web's, and those
// that need no privilege to listen at.
const DefaultPorts = "80,443,1024-65535"

// Ports are ranges of ports.
type Ports []portRange

type portRange struct{ first, last uint16 }

// ParsePorts reads a list such as 80,443,8000-9000. The error says what is wrong.
func ParsePorts(text string) (Ports, error) {
	var ports Ports
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || first == 0 || first > last {
			return nil, fmt.Errorf("%q is neither a port (1 to 65535) nor a range such as 8000-9000", part)
		}
		if first == last && slices.Contains(mail, uint16(first)) {
			return nil, fmt.Errorf("port %d sends mail and is never open", first)
		}
		ports = append(ports, portRange{uint16(first), uint16(last)})
	}
	return ports, nil
}

// Contains says whether a port is open. Those of mail never are.
func (p Ports) Contains(port uint16) bool {
	return !slices.Contains(mail, port) &&
		slices.ContainsFunc(p, func(r portRange) bool { return r.first <= port && port <= r.last })
}
