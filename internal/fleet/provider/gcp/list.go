package gcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/compute/apiv1/computepb"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

const (
	pageSize = 500
	// mostPages bounds a list that never ends.
	mostPages = 10_000
)

// Find implements [provider.Provider].
func (p *Provider) Find(ctx context.Context, cluster, uid string) ([]provider.Instance, error) {
	if !labelForm.MatchString(uid) {
		return nil, fmt.Errorf("find: %w: UID %q is no value of a label", provider.ErrPermanent, uid)
	}
	projects := []string{p.account.project}
	if p.account.digest == "" && p.account.project == p.o.Project {
		projects = p.projects()
	}
	return p.list(ctx, projects, cluster, uid)
}

// ListByTag implements [provider.Provider]: every project that is known, by the
// accounts that are known for it.
func (p *Provider) ListByTag(ctx context.Context, cluster string) ([]provider.Instance, error) {
	return p.list(ctx, p.projects(), cluster, "")
}

// list asks one project after the other. One that cannot be seen hides no other.
func (p *Provider) list(ctx context.Context, projects []string, cluster, uid string) ([]provider.Instance, error) {
	if !labelForm.MatchString(cluster) {
		return nil, fmt.Errorf("list: %w: cluster %q is no value of a label", provider.ErrPermanent, cluster)
	}
	l := &list{cluster: cluster, uid: uid, byID: map[string]provider.Instance{}}
	for _, project := range projects {
		l.project = project
		if err := p.listProject(ctx, l); err != nil {
			if len(projects) == 1 {
				return nil, fmt.Errorf("list projects/%s: %w", project, err)
			}
			l.miss("projects/"+project, err)
		}
	}
	return l.result()
}

// listProject asks with one account after the other until one may list.
func (p *Provider) listProject(ctx context.Context, l *list) error {
	if !projectForm.MatchString(l.project) {
		return location{project: l.project}.check()
	}
	with := p.of(l.project)
	if p.account.digest != "" || len(with) == 0 {
		with = slices.Insert(with, 0, account{project: l.project, digest: p.account.digest, key: p.account.key})
	}
	var first error
	for _, used := range with {
		s, err := p.session(ctx, used)
		if err == nil {
			err = s.list(ctx, l)
		}
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return first
}

// list is what comes together of scopes and pages.
type list struct {
	cluster, uid, project string

	byID   map[string]provider.Instance
	missed []string
	why    error
}

// miss notes a scope that could not be seen.
func (l *list) miss(scope string, why error) {
	l.missed = append(l.missed, scope)
	if l.why == nil {
		l.why = why
	}
}

// result is sorted by ID, with a [provider.PartialError] where a scope was missed.
func (l *list) result() ([]provider.Instance, error) {
	out := make([]provider.Instance, 0, len(l.byID))
	for _, it := range l.byID {
		out = append(out, it)
	}
	slices.SortFunc(out, func(a, b provider.Instance) int { return strings.Compare(a.ID, b.ID) })
	if len(l.missed) == 0 {
		return out, nil
	}
	slices.Sort(l.missed)
	return out, &provider.PartialError{Scopes: slices.Compact(l.missed), Err: l.why}
}

// filter asks for the labels. Its values were checked.
func (l *list) filter() string {
	out := "(labels." + egress_v1alpha1.ClusterLabel + ` = "` + l.cluster + `")`
	if l.uid != "" {
		out += " (labels." + egress_v1alpha1.UIDLabel + ` = "` + l.uid + `")`
	}
	return out
}

// list reads all pages of a project. An iterator of the client would go over pages
// without items, and what they say of unreachable scopes would be lost.
func (s *session) list(ctx context.Context, l *list) error {
	at := location{project: l.project}
	token := ""
	for range mostPages {
		page, err := s.page(ctx, l, token)
		if err := s.classify(err, at); err != nil {
			return err
		}
		l.add(page)
		next := page.GetNextPageToken()
		if next == "" {
			return nil
		}
		if next == token {
			break
		}
		token = next
	}
	return fmt.Errorf("%w: the list does not end", provider.ErrTransient)
}

// page is one request, with a deadline of its own.
func (s *session) page(ctx context.Context, l *list, token string) (*computepb.InstanceAggregatedList, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	client, err := s.lister(ctx)
	if err != nil {
		return nil, err
	}
	it := client.AggregatedList(ctx, &computepb.AggregatedListInstancesRequest{
		Project: l.project, Filter: new(l.filter()), ReturnPartialSuccess: new(true),
	})
	if _, _, err := it.InternalFetch(pageSize, token); err != nil {
		return nil, err
	}
	page, ok := it.Response.(*computepb.InstanceAggregatedList)
	if !ok {
		return nil, errors.New("the answer is no list")
	}
	return page, nil
}

// add takes what a page shows, and notes what it does not. A scope without a warning,
// or with the one that it has nothing here, was seen.
func (l *list) add(page *computepb.InstanceAggregatedList) {
	for _, scope := range page.GetUnreachables() {
		l.unreachable(scope, nil)
	}
	if w := page.GetWarning(); !benign(w) {
		l.unreachable("", w)
	}
	for scope, items := range page.GetItems() {
		if w := items.GetWarning(); !benign(w) {
			l.unreachable(scope, w)
		}
		for _, it := range items.GetInstances() {
			out := seen(l.project, it)
			if out.Cluster == l.cluster && (l.uid == "" || out.UID == l.uid) {
				l.byID[out.ID] = out
			}
		}
	}
}

// benign says whether a scope was seen in spite of a warning.
func benign(w *computepb.Warning) bool {
	return w == nil || w.GetCode() == "NO_RESULTS_ON_PAGE" || w.GetCode() == ""
}

func (l *list) unreachable(scope string, w *computepb.Warning) {
	if _, after, found := strings.Cut(scope, "projects/"); found {
		_, scope, _ = strings.Cut(after, "/") // a URL
	}
	name := strings.TrimSuffix("projects/"+l.project+"/"+scope, "/")
	text := "unreachable"
	if w != nil {
		text = oneLine(w.GetCode() + ": " + w.GetMessage())
	}
	l.miss(name, fmt.Errorf("%w: %s", provider.ErrTransient, text))
}
