package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// tries draws those in vain as ticks below the belief that led to them.
func (c *canvas) tries(s *spansOf, l lane) {
	bins := make(map[int]int)
	for _, a := range s.inVain {
		bins[c.bin(a.At)]++
	}
	for bin := range c.bins {
		n := bins[bin]
		if n == 0 {
			continue
		}
		from, _ := c.edges(bin)
		c.Bands = append(c.Bands, shape{
			Class: "try", X: c.x(from), Y: strconv.Itoa(c.y + l.tries), W: "1.5", H: strconv.Itoa(l.triesHigh),
			Title: fmt.Sprintf("%s to reach %s in vain, about %s", plural(n, "try", "tries"), s.backend, clock(from)),
		})
	}
}

func (c *canvas) bin(m lab.Moment) int {
	return min(max(int(int64(m)*int64(c.bins)/int64(c.length)), 0), c.bins-1)
}

func (c *canvas) edges(bin int) (from, to lab.Moment) {
	width := float64(c.length) / float64(c.bins)
	return lab.Moment(width * float64(bin)), lab.Moment(width * float64(bin+1))
}

// failures has a row of dots for each way in which requests failed.
func (c *canvas) failures(p lab.Proxy) {
	if p.Requests == nil {
		return
	}
	for _, o := range outcomes {
		if p.Requests.FailedBy[o.outcome] == 0 {
			continue
		}
		bins := make(map[int][]lab.Request)
		for _, r := range p.Requests.Failures {
			if r.Outcome == o.outcome {
				bins[c.bin(r.Due)] = append(bins[c.bin(r.Due)], r)
			}
		}
		c.Names = append(c.Names, shape{Class: "count", Y: strconv.Itoa(c.y + 14), Text: o.word, Title: fmt.Sprintf("%s: %s failed", o.word, plural(p.Requests.FailedBy[o.outcome], "request", "requests"))})
		for bin := range c.bins {
			if requests := bins[bin]; len(requests) > 0 {
				c.dot(bin, requests, o.word)
			}
		}
		c.y += failHeight
	}
}

// dot stands for requests that failed at about the same time; its area grows with them.
func (c *canvas) dot(bin int, requests []lab.Request, word string) {
	from, to := c.edges(bin)
	d := shape{
		X: c.x((from + to) / 2), Y: strconv.Itoa(c.y + failHeight/2),
		W: strconv.FormatFloat(min(2.4+math.Sqrt(float64(len(requests)-1))*0.8, 7), 'f', 1, 64),
	}
	if r := requests[0]; len(requests) == 1 {
		d.Title = fmt.Sprintf("request %d: %s after %s, due at %s", r.ID, word, Seconds(r.Done-r.Due), clock(r.Due))
	} else {
		d.Title = fmt.Sprintf("%s requests: %s, due from %s to %s", Number(len(requests)), word, clock(from), clock(to))
	}
	c.Dots = append(c.Dots, d)
}
