package page

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/webpage"
)

// pageSize is how many links the list shows at once.
const pageSize = 50

// A frame is what every page shows around its own.
type frame struct {
	Title    string
	Host     string
	Base     string
	SignedIn bool
	Tabs     []webpage.Tab
	Health   health
	Now      time.Time
}

// health is the state of the server as the API tells it.
type health struct {
	State  string  `json:"status"`
	Lag    float64 `json:"lag_seconds"`
	Links  int64   `json:"links"`
	Clicks int64   `json:"clicks"`
	Lost   int64   `json:"lost"`
}

// well reports whether hits are recorded in time.
func (h health) well() bool { return h.State == "ok" && h.Lost == 0 && h.Lag < 60 }

// says returns the state as people read it.
func (h health) says() string {
	switch {
	case h.well():
		return "recording"
	case h.State != "":
		return h.State
	}
	return "state unknown"
}

// frame asks how the server is.
func (p *Page) frame(r *http.Request, title string) frame {
	f := frame{
		Title: title, Host: p.host, Base: p.o.BaseURL, SignedIn: keyOf(r) != "", Now: p.o.Now(),
		Tabs: p.o.Pages.Tabs(r.Host),
	}
	p.get(r, "/api/v1/health", &f.Health)
	return f
}

// A listView is what /+ shows.
type listView struct {
	frame
	Query   query
	Links   []row
	Looked  int64  // links that a search has looked at so far; 0: all that there are
	Next    string // of the page after this one; "" when there is none
	First   string // of the first page, on all others
	Tags    []string
	Orphans []orphan
	Form    form
	Made    *link // what the form has just made
	Reused  bool
	Problem *problem
	Did     *did   // what has just been done with links of the list
	Offer   string // the target that was probably meant
	Here    string // the address of the list as it is shown
}

// A query is what the list is asked for.
type query struct{ Q, Tag, Order, After string }

// filters reports whether the list may lack links for it.
func (q query) filters() bool { return q.Q != "" || q.Tag != "" }

// A row is a link in the list.
type row struct {
	link
	Spark spark
}

// An orphan is a path that was asked for and does not exist.
type orphan struct {
	Path   string `json:"path"`
	Clicks int64  `json:"clicks"`
	Link   string `json:"code"` // the code of the link that there is by now
}

// Code returns the code that a link there would have, "" when there can be none.
func (o orphan) Code() string {
	code := strings.Trim(o.Path, "/")
	if strings.ContainsAny(code, "/.+ %") || len(code) > 64 {
		return ""
	}
	return code
}

// orders are how a list may be sorted, and what that is called.
var orders = []struct{ Value, Name string }{
	{"-created_at", "newest"}, {"-clicks", "most clicks"}, {"code", "code"},
}

// With returns the address of the list with one thing changed.
func (q query) With(name, value string) string {
	v := url.Values{}
	for key, old := range map[string]string{"q": q.Q, "tag": q.Tag, "order": q.Order} {
		if old != "" {
			v.Set(key, old)
		}
	}
	if v.Set(name, value); value == "" {
		v.Del(name)
	}
	if len(v) == 0 {
		return "/+"
	}
	return "/+?" + v.Encode()
}

// Export returns the address of what the list shows, as a file.
func (q query) Export(kind string) string {
	return strings.Replace(q.With("", ""), "/+", "/+/export."+kind, 1)
}

// serveList answers /+: the list, and the form that makes links.
func (p *Page) serveList(w http.ResponseWriter, r *http.Request) {
	if !methods(w, r, http.MethodGet, http.MethodHead, http.MethodPost) {
		return
	}
	if r.Method == http.MethodPost {
		p.create(w, r)
		return
	}
	v := r.URL.Query()
	view := listView{Form: form{Code: v.Get("code"), URL: v.Get("url")}, Did: didOf(v)}
	if made := v.Get("made"); made != "" {
		view.Made, view.Reused = new(link), v.Get("reused") != ""
		if p.get(r, "/api/v1/links/"+url.PathEscape(made), view.Made) != http.StatusOK {
			view.Made = nil
		}
	}
	p.list(w, r, http.StatusOK, view)
}

// list answers with the list as the query of the request wants it.
func (p *Page) list(w http.ResponseWriter, r *http.Request, status int, view listView) {
	v := r.URL.Query()
	view.Query = query{
		Q: v.Get("q"), Tag: v.Get("tag"), Order: v.Get("order"), After: v.Get("after"),
	}
	answer, bad := p.search(r, &view)
	if bad != nil && (bad.Status == http.StatusUnauthorized || bad.Status == http.StatusForbidden) {
		p.signIn(w, r, r.URL.RequestURI(), "")
		return
	}
	if bad != nil && view.Problem == nil {
		view.Problem, status = bad, bad.Status
	}
	view.frame = p.frame(r, "Links")
	view.Here = view.Query.With("", "")
	if view.Query.After != "" {
		view.Here = p.after(view.Query, view.Query.After)
	}
	if answer.Next != "" {
		view.Next = p.after(view.Query, answer.Next)
		if view.Looked > 0 {
			view.Next += "&looked=" + strconv.FormatInt(view.Looked, 10)
		}
	}
	if view.Query.After != "" {
		view.First = view.Query.With("", "")
	}
	view.Links = p.rows(answer.Links, answer.Days)
	view.Tags = tagsOf(answer.Links)
	view.Orphans = p.orphans(r)
	p.render(w, status, listPage(view))
}

// searchTime is how long a page of the list goes on to look for links while it has none.
const searchTime = 1500 * time.Millisecond

// A listAnswer is a part of a list as the API tells it.
type listAnswer struct {
	Links  []link `json:"links"`
	Next   string `json:"next"`
	Looked int64  `json:"looked"`
	Days   week   `json:"days"`
}

// search asks for the part of the list that view shows. While a part has no links and yet
// there are more to look at, it goes on.
func (p *Page) search(r *http.Request, view *listView) (listAnswer, *problem) {
	ask := url.Values{"limit": {strconv.Itoa(pageSize)}, "days": {strconv.Itoa(sparkDays)}}
	for name, value := range map[string]string{
		"q": view.Query.Q, "tag": view.Query.Tag, "order": view.Query.Order,
		"after": view.Query.After,
	} {
		if value != "" {
			ask.Set(name, value)
		}
	}
	before, _ := strconv.ParseInt(r.URL.Query().Get("looked"), 10, 64)
	view.Looked = max(0, before) // what is no number says nothing
	for begin := time.Now(); ; {
		var answer listAnswer
		path := "/api/v1/links?" + ask.Encode()
		_, bad := p.ask(r, call{method: http.MethodGet, path: path}, &answer)
		if answer.Looked == 0 {
			view.Looked = 0
		}
		view.Looked += answer.Looked
		if bad != nil || len(answer.Links) > 0 || answer.Next == "" ||
			time.Since(begin) >= p.searchTime {
			return answer, bad
		}
		ask.Set("after", answer.Next)
	}
}

// after returns the address of the next page of the list.
func (p *Page) after(q query, cursor string) string {
	address := q.With("", "")
	if strings.Contains(address, "?") {
		return address + "&after=" + url.QueryEscape(cursor)
	}
	return address + "?after=" + url.QueryEscape(cursor)
}

// A week is what the links of a list had on each of the last days, as the API
// tells it.
type week struct {
	From   string             `json:"from"`
	Clicks map[string][]int64 `json:"clicks"`
}

// of returns the days of a link as a series.
func (w *week) of(code string) []bucket {
	first, ok := bucketTime(w.From)
	if !ok {
		return nil
	}
	var days []bucket
	for i, n := range w.Clicks[code] {
		at := first.AddDate(0, 0, i).Format(time.DateOnly)
		days = append(days, bucket{At: at, Clicks: n})
	}
	return days
}

// rows draws the week of each link.
func (p *Page) rows(links []link, w week) []row {
	out := make([]row, len(links))
	now := p.o.Now()
	for i, l := range links {
		out[i] = row{l, sparkOf(w.of(l.Code), now)}
	}
	return out
}

// tagsOf returns the tags of the links that are shown, each once.
func tagsOf(links []link) []string {
	var tags []string
	seen := map[string]bool{}
	for _, l := range links {
		for _, tag := range l.Tags {
			if !seen[tag] {
				seen[tag] = true
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// orphans returns what was asked for most today and does not exist.
func (p *Page) orphans(r *http.Request) []orphan {
	var answer struct {
		Orphans []orphan `json:"orphans"`
	}
	p.get(r, "/api/v1/orphans?limit=8", &answer)
	if len(answer.Orphans) > 8 {
		answer.Orphans = answer.Orphans[:8]
	}
	return answer.Orphans
}
