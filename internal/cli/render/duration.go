package render

import (
	"fmt"
	"strings"
	"time"
)

// Duration writes a time with two or three significant digits, for example
// "9 ms", "3.1 s", "1m 12s", "2h 5m", "3d 4h".
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Count writes a number with its noun in the right form, for example "1 file", "3 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if before, ends := strings.CutSuffix(noun, "proxy"); ends {
		return fmt.Sprintf("%d %sproxies", n, before)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
