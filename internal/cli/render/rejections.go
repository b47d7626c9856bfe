package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
)

// Rejections returns a row for each input that is not accepted, with why and where
// below it.
func Rejections(s Style, all []admin.InputRejection, now time.Time) string {
	if len(all) == 0 {
		return s.Paint(Green, "nothing is rejected") + "\n"
	}
	t := Table{Header: []string{"OBJECT", "REJECTED", "FOR", "SERVES INSTEAD"}}
	for _, r := range all {
		t.Rows = append(t.Rows, []Cell{
			T(subject(r.Object.Kind, r.Object.FullName(), r.Where)),
			{observed(r.Observed), Red},
			T(since(r.Since, now)), serving(r),
		})
		t.Below = append(t.Below, rejectionDetails(r, now))
	}
	return t.Render(s)
}

// observed names what was rejected.
func observed(o admin.ObservedRevision) string {
	switch {
	case o.Deleted:
		return "deletion"
	case o.Generation == 0:
		return "document"
	}
	return fmt.Sprintf("generation %d", o.Generation)
}

func since(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return Duration(now.Sub(at))
}

// serving is what is in force instead, in brief.
func serving(r admin.InputRejection) Cell {
	switch {
	case r.Serves == "nothing":
		return Cell{r.Serves, Yellow}
	case r.Accepted == nil:
		return T(r.Serves)
	}
	return T(fmt.Sprintf("generation %d", r.Accepted.Generation))
}

// rejectionDetails say why, and where to look.
func rejectionDetails(r admin.InputRejection, now time.Time) []string {
	why := fielded(r.Field, r.Message) + " [" + r.Reason + "]"
	if r.Remedy != "" {
		why += " → " + r.Remedy
	}
	name := subject(r.Object.Kind, r.Object.FullName(), "")
	where := []string{"by " + r.Validator}
	if r.Where != "" && r.Object.Name != "" {
		where = append(where, "file "+r.Where)
	}
	if r.Accepted != nil && !r.Accepted.At.IsZero() && r.Serves != "nothing" {
		at := r.Accepted.At.UTC().Format(time.RFC3339)
		serves := strings.Replace(r.Serves, "accepted "+at, "accepted "+Duration(now.Sub(r.Accepted.At))+" ago", 1)
		where = append(where, strings.TrimPrefix(serves, serving(r).Text+", "))
	}
	if r.More > 0 {
		where = append(where, fmt.Sprintf("%d more: gatehouse why %s", r.More, name))
	}
	return nonEmpty(why, strings.Join(where, " · "))
}
