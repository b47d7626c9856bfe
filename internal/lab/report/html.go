package report

import (
	"io"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// HTML writes one self-contained page: a summary, and for each proxy a timeline of
// truth and belief.
func HTML(w io.Writer, r lab.Result) error {
	_, err := io.WriteString(w, r.Timeline.Name)
	return err
}
