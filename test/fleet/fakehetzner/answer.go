package fakehetzner

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"
)

// Request is what a server is asked for with. A field that is not here is refused.
type Request struct {
	Name             string            `json:"name"`
	ServerType       string            `json:"server_type"`
	Image            string            `json:"image"`
	Location         string            `json:"location"`
	UserData         string            `json:"user_data"`
	StartAfterCreate *bool             `json:"start_after_create"`
	Labels           map[string]string `json:"labels"`
	PublicNet        *struct {
		EnableIPv4 bool `json:"enable_ipv4"`
		EnableIPv6 bool `json:"enable_ipv6"`
	} `json:"public_net"`
}

// names are what the API takes for names of servers and for values of labels.
var (
	names  = regexp.MustCompile(`^[a-zA-Z0-9]([-.a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$`)
	values = regexp.MustCompile(`^([a-zA-Z0-9]([-._a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)?$`)
)

// problem is why a request is refused.
func (r Request) problem() (code, message string) {
	switch {
	case !names.MatchString(r.Name):
		return "invalid_input", "invalid input in field 'name'"
	case !slices.Contains([]string{"cx23", "cax11"}, r.ServerType):
		return "invalid_input", "server type " + r.ServerType + " not found"
	case !slices.Contains([]string{"debian-12", "debian-13"}, r.Image):
		return "invalid_input", "image " + r.Image + " not found"
	case !slices.Contains([]string{"", "fsn1", "nbg1", "hel1"}, r.Location):
		return "invalid_input", "location " + r.Location + " not found"
	case len(r.UserData) > 32<<10:
		return "invalid_input", "invalid input in field 'user_data'"
	}
	for k, v := range r.Labels {
		if !values.MatchString(k) || !values.MatchString(v) || k == "" {
			return "invalid_input", "invalid input in field 'labels'"
		}
	}
	return "", ""
}

func (f *Fake) create(w http.ResponseWriter, r *http.Request) {
	var request Request
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&request); err != nil {
		refuse(w, http.StatusBadRequest, "json_error", err.Error())
		return
	}
	if code, message := request.problem(); code != "" {
		refuse(w, http.StatusUnprocessableEntity, code, message)
		return
	}
	project := projectOf(r)
	for _, s := range f.servers {
		if s.project == project && s.Name == request.Name {
			refuse(w, http.StatusConflict, "uniqueness_error", "server name is already used")
			return
		}
	}
	s := f.put(project, request)
	answer(w, http.StatusCreated, schema.ServerCreateResponse{
		Server: s.Server, Action: *s.create, RootPassword: new("root-password-of-" + s.Name), NextActions: []schema.Action{*f.begin("start_server", s.ID, s.Created)},
	})
}

// of returns the server that a request names, if it is its project's.
func (f *Fake) of(w http.ResponseWriter, r *http.Request) *server {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if s := f.servers[id]; err == nil && s != nil && s.project == projectOf(r) {
		return s
	}
	refuse(w, http.StatusNotFound, "not_found", fmt.Sprintf("server with ID '%s' not found", r.PathValue("id")))
	return nil
}

func (f *Fake) get(w http.ResponseWriter, r *http.Request) {
	if s := f.of(w, r); s != nil {
		answer(w, http.StatusOK, schema.ServerGetResponse{Server: s.Server})
	}
}

func (f *Fake) remove(w http.ResponseWriter, r *http.Request) {
	s := f.of(w, r)
	switch {
	case s == nil:
		return
	case s.Protection.Delete:
		refuse(w, http.StatusLocked, "protected", "server deletion is protected")
		return
	case s.delete != nil:
		refuse(w, http.StatusLocked, "locked", "server is locked")
		return
	}
	s.Status, s.Locked, s.delete = "deleting", true, f.begin("delete_server", s.ID, f.time())
	answer(w, http.StatusOK, schema.ServerDeleteResponse{Action: *s.delete})
}

func (f *Fake) action(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if a := f.actions[id]; a != nil {
		answer(w, http.StatusOK, schema.ActionGetResponse{Action: *a})
		return
	}
	refuse(w, http.StatusNotFound, "not_found", "action not found")
}

// list answers a page of what is asked for, by name or by labels.
func (f *Fake) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var found []schema.Server
	for _, id := range slices.Sorted(maps.Keys(f.servers)) {
		s := f.servers[id]
		if s.project == projectOf(r) && (query.Get("name") == "" || query.Get("name") == s.Name) && selected(query.Get("label_selector"), s.Labels) {
			found = append(found, s.Server)
			if f.o.Repeats {
				found = append(found, s.Server)
			}
		}
	}
	answer(w, http.StatusOK, f.page(found, number(query.Get("page"), 1), number(query.Get("per_page"), 25)))
}

// page is a part of a list, as the API answers it.
func (f *Fake) page(all []schema.Server, page, size int) any {
	size = min(size, 50)
	if f.o.PageSize > 0 {
		size = f.o.PageSize
	}
	at := page
	if f.o.EmptyFirst {
		at--
	}
	pages := (len(all)+size-1)/size + page - at
	part := []schema.Server{}
	if from := (at - 1) * size; from >= 0 && from < len(all) {
		part = all[from:min(from+size, len(all))]
	}
	p := schema.MetaPagination{Page: page, PerPage: size, LastPage: max(1, pages), TotalEntries: len(all)}
	if page < pages {
		p.NextPage = page + 1
	}
	return struct {
		Servers []schema.Server `json:"servers"`
		Meta    schema.Meta     `json:"meta"`
	}{part, schema.Meta{Pagination: &p}}
}

func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// selected tells whether labels are as a selector of equalities says.
func selected(selector string, labels map[string]string) bool {
	if selector == "" {
		return true
	}
	for term := range strings.SplitSeq(selector, ",") {
		key, value, _ := strings.Cut(term, "==")
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

func newID() string { return rand.Text() }
