package page

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// A linkView is what /CODE+ shows.
type linkView struct {
	frame
	Link    link
	Chart   chart
	By      []dimension
	Last    []click
	Edits   []edit
	Form    form
	Problem *problem
	Saved   bool
}

// A dimension is a table of what clicks are made of.
type dimension struct {
	Name   string
	Region bool // the names are countries
	Shares []share
}

// says returns one of its names as people read it.
func (d dimension) says(name string) string {
	if d.Region {
		return regionName(name)
	}
	return name
}

// A click is one of the log.
type click struct {
	At       time.Time `json:"at"`
	Code     string    `json:"code"`
	Kind     any       `json:"kind"`
	Country  string    `json:"country"`
	Browser  string    `json:"browser"`
	OS       string    `json:"os"`
	Referrer string    `json:"referrer"`
	Path     string    `json:"path"`
}

// An edit is one change of a link.
type edit struct {
	At      time.Time       `json:"at"`
	By      string          `json:"by"`
	Before  json.RawMessage `json:"before"`
	After   json.RawMessage `json:"after"`
	Made    bool            `json:"-"`
	Changes []change        `json:"-"`
}

// A change is a member that an edit has given another value.
type change struct{ Name, From, To string }

// units are the buckets that a chart may have.
var units = []string{"hour", "day", "month"}

// serveLink answers /CODE+.
func (p *Page) serveLink(w http.ResponseWriter, r *http.Request, code string) {
	if !methods(w, r, http.MethodGet, http.MethodHead, http.MethodPost) {
		return
	}
	if r.Method == http.MethodPost {
		p.change(w, r, code)
		return
	}
	p.link(w, r, http.StatusOK, code, linkView{Saved: r.URL.Query().Get("saved") != ""})
}

// link answers with the page of a link.
func (p *Page) link(
	w http.ResponseWriter, r *http.Request, status int, code string, view linkView,
) {
	path := "/api/v1/links/" + url.PathEscape(code)
	header, bad := p.ask(r, call{method: http.MethodGet, path: path}, &view.Link)
	if bad != nil {
		p.noLink(w, r, code, bad)
		return
	}
	if view.Form.ETag == "" {
		view.Form = editing(&view.Link, header.Get("ETag"))
	}
	view.frame = p.frame(r, view.Link.Code)
	unit := r.URL.Query().Get("unit")
	if _, ok := spans[unit]; !ok {
		unit = "day"
	}
	now := p.o.Now()
	var s stats
	p.get(r, path+"/stats?"+url.Values{
		"unit": {unit}, "by": {"referrer,country,browser,os"},
		"from": {spans[unit].cut(spans[unit].back(now.UTC())).Format(time.RFC3339)},
	}.Encode(), &s)
	view.Chart = draw(unit, s.Rows, now)
	for _, d := range []dimension{
		{Name: "Referrers"}, {Name: "Countries", Region: true}, {Name: "Browsers"},
		{Name: "Systems"},
	} {
		member := map[string]string{
			"Referrers": "referrer", "Countries": "country", "Browsers": "browser", "Systems": "os",
		}[d.Name]
		d.Shares = sharesOf(s.By[member])
		view.By = append(view.By, d)
	}
	view.Last = p.lastClicks(r, view.Link.Code)
	view.Edits = p.edits(r, path)
	p.render(w, status, linkPage(view))
}

// noLink answers for a code that has no link, or none that the visitor may see.
// Whoever could make it gets the form, with the code filled in.
func (p *Page) noLink(w http.ResponseWriter, r *http.Request, code string, bad *problem) {
	switch bad.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		p.signIn(w, r, r.URL.Path, "")
	case http.StatusNotFound:
		bad.Detail = "There is no link " + code + " yet."
		p.list(w, r, http.StatusNotFound, listView{Form: form{Code: code}, Problem: bad})
	default:
		p.list(w, r, bad.Status, listView{Problem: bad})
	}
}

// lastClicks returns the newest clicks of a link.
func (p *Page) lastClicks(r *http.Request, code string) []click {
	var answer struct {
		Clicks []click `json:"clicks"`
	}
	p.get(r, "/api/v1/clicks?"+url.Values{
		"code": {code}, "limit": {"50"}, "order": {"-at"},
	}.Encode(), &answer)
	return answer.Clicks
}

// edits returns the history of a link, newest first.
func (p *Page) edits(r *http.Request, path string) []edit {
	var answer struct {
		Edits []edit `json:"edits"`
	}
	p.get(r, path+"/edits", &answer)
	for i := range answer.Edits {
		e := &answer.Edits[i]
		e.Made = len(e.Before) == 0 || string(e.Before) == "null"
		e.Changes = changesOf(e.Before, e.After)
	}
	return answer.Edits
}

// changesOf compares two states of a link.
func changesOf(before, after json.RawMessage) []change {
	var from, to map[string]any
	_ = json.Unmarshal(before, &from) // a state that cannot be read has no members
	_ = json.Unmarshal(after, &to)
	var out []change
	for _, name := range []string{
		"code", "url", "status", "title", "tags", "enabled", "pass_query", "pass_path", "starts_at",
		"expires_at", "expired_url", "max_clicks",
	} {
		a, b := say(from[name]), say(to[name])
		if a != b {
			out = append(out, change{name, a, b})
		}
	}
	return out
}

// say writes a JSON value for people.
func say(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// change does what a form of /CODE+ asks for.
func (p *Page) change(w http.ResponseWriter, r *http.Request, code string) {
	if !parseForm(w, r) {
		return
	}
	path := "/api/v1/links/" + url.PathEscape(code)
	f := formOf(r.PostForm)
	c := call{
		method: http.MethodPatch, path: path, ifMatch: f.ETag,
		mediaType: "application/merge-patch+json",
	}
	var bad *problem
	back := "/" + url.PathEscape(code) + "+?saved=1"
	switch r.PostForm.Get("do") {
	case "delete":
		c = call{method: http.MethodDelete, path: path, ifMatch: f.ETag}
		back = (&did{Do: "delete", Codes: []string{code}}).address("/+")
	case "off":
		c.body = map[string]any{"enabled": false}
	case "on":
		c.body = map[string]any{"enabled": true}
	default:
		c.body, bad = f.document(true)
	}
	if bad == nil {
		_, bad = p.ask(r, c, nil)
	}
	switch {
	case bad == nil:
		http.Redirect(w, r, back, http.StatusSeeOther)
	case bad.Status == http.StatusUnauthorized || bad.Status == http.StatusForbidden:
		p.signIn(w, r, r.URL.Path, "Changing a link needs a key that may write.")
	case bad.Status == http.StatusPreconditionFailed:
		bad.Detail = "Somebody else has changed this link in the meantime. What is shown now is " +
			"theirs; look at it and change it again."
		p.link(w, r, bad.Status, code, linkView{Problem: bad})
	default:
		p.link(w, r, bad.Status, code, linkView{Problem: spoken(bad), Form: f})
	}
}
