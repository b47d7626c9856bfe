package nginx

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// accessLog is a log that nginx writes a line to when a request ends: its id, and the
// addresses that were tried for it, "17 10.0.1.1:8080, 10.0.1.2:8080".
type accessLog struct {
	path   string
	offset int64 // of the first line that has not been read
	tried  map[uint64]int
}

// attempts reads what is new and returns how many backends each request so far tried.
func (l *accessLog) attempts() (map[uint64]int, error) {
	file, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("read nginx's access log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read nginx's access log: %w", err)
	}
	if l.tried == nil {
		l.tried = map[uint64]int{}
	}
	for in := bufio.NewReader(file); ; {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			return maps.Clone(l.tried), nil // a line without its end is not complete
		}
		if err != nil {
			return nil, fmt.Errorf("read nginx's access log: %w", err)
		}
		l.offset += int64(len(line))
		if request, tries, ok := readLine(line); ok {
			l.tried[request] = tries
		}
	}
}

// readLine counts addresses: where no backend was left to try, nginx writes the name of
// the upstream among them, or a dash alone.
func readLine(line string) (request uint64, tries int, ok bool) {
	id, tried, _ := strings.Cut(strings.TrimSpace(line), " ")
	request, err := strconv.ParseUint(id, 10, 64)
	for part := range strings.FieldsFuncSeq(tried, func(r rune) bool { return r == ',' || r == ' ' }) {
		if _, err := netip.ParseAddrPort(part); err == nil {
			tries++
		}
	}
	return request, tries, err == nil
}
