package fakegce

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
)

// query is what a list asks for.
type query struct {
	labels     map[string]string
	partial    bool
	most, from int
}

var (
	filterForm = regexp.MustCompile(`^(\(labels\.[a-z0-9_-]+ = "[^"]*"\) ?)*$`)
	filterPart = regexp.MustCompile(`\(labels\.([a-z0-9_-]+) = "([^"]*)"\)`)
)

func parseList(raw string) (query, error) {
	q := query{labels: map[string]string{}}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, fmt.Errorf("query: %w", err)
	}
	filter := values.Get("filter")
	if !filterForm.MatchString(filter) {
		return q, fmt.Errorf("invalid value for field 'filter': '%s'. Invalid list filter expression", filter)
	}
	for _, part := range filterPart.FindAllStringSubmatch(filter, -1) {
		q.labels[part[1]] = part[2]
	}
	q.partial = values.Get("returnPartialSuccess") == "true"
	if q.most, err = number(values.Get("maxResults")); err != nil || q.most > 500 {
		return q, fmt.Errorf("invalid value for field 'maxResults': '%s'. Values must be between 0 and 500", values.Get("maxResults"))
	}
	if q.from, err = number(values.Get("pageToken")); err != nil {
		return q, fmt.Errorf("invalid value for field 'pageToken': '%s'. Invalid page token", values.Get("pageToken"))
	}
	return q, nil
}

func number(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.Atoi(text)
}

func (q query) matches(labels map[string]string) bool {
	for key, value := range q.labels {
		if labels[key] != value {
			return false
		}
	}
	return true
}
