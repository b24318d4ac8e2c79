package page

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A form is what a visitor has typed, as typed.
type form struct {
	URL, Code, Title, Tags, Status      string
	StartsAt, ExpiresAt, ExpiredURL     string
	MaxClicks                           string
	Enabled, PassQuery, PassPath, Reuse bool
	ETag                                string
}

// hasOptions reports whether a field has been filled that the form hides at first.
func (f form) hasOptions() bool {
	return cmp.Or(f.Title, f.Tags, f.ExpiresAt, f.MaxClicks, f.StartsAt, f.ExpiredURL) != ""
}

// redirects are the statuses that a link may answer with. The first is the usual one.
var redirects = []struct{ Status, Name string }{
	{"302", "302 found"}, {"301", "301 moved"}, {"303", "303 see other"},
	{"307", "307 any method"}, {"308", "308 moved, any method"},
}

// redirects reports whether a status is the form's.
func (f form) redirects(status string) bool {
	return status == cmp.Or(f.Status, redirects[0].Status)
}

// formOf reads the fields that were posted.
func formOf(v url.Values) form {
	return form{
		URL: v.Get("url"), Code: strings.TrimSpace(v.Get("code")), Title: v.Get("title"),
		Tags: v.Get("tags"), Status: v.Get("status"), StartsAt: v.Get("starts_at"),
		ExpiresAt: v.Get("expires_at"), ExpiredURL: v.Get("expired_url"),
		MaxClicks: strings.TrimSpace(v.Get("max_clicks")), Enabled: v.Get("enabled") != "",
		PassQuery: v.Get("pass_query") != "", PassPath: v.Get("pass_path") != "",
		Reuse: v.Get("reuse") != "", ETag: v.Get("etag"),
	}
}

// editing returns the form that a link fills.
func editing(l *link, etag string) form {
	f := form{
		URL: l.URL, Code: l.Code, Title: l.Title, Tags: strings.Join(l.Tags, ", "),
		Status: strconv.Itoa(l.Status), ExpiredURL: l.ExpiredURL, Enabled: l.Enabled,
		PassQuery: l.PassQuery, PassPath: l.PassPath, ETag: etag,
		StartsAt: fieldTime(l.StartsAt), ExpiresAt: fieldTime(l.ExpiresAt),
	}
	if l.MaxClicks > 0 {
		f.MaxClicks = strconv.FormatInt(l.MaxClicks, 10)
	}
	return f
}

// fieldTime writes a moment as <input type=datetime-local> takes it.
func fieldTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04")
}

// moment reads what such a field sends, as UTC; null for nothing.
func moment(name, text string) (any, *problem) {
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{
		"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Format(time.RFC3339), nil
		}
	}
	return nil, &problem{
		Status: http.StatusUnprocessableEntity, Field: name,
		Detail: fmt.Sprintf("%q is not a date and time: 2026-12-31T23:59 is", text),
	}
}

// document returns the JSON members of a form. With all, the empty ones say
// that something is to be taken away.
func (f form) document(all bool) (map[string]any, *problem) {
	doc := map[string]any{"url": f.URL}
	set := func(name string, value any, empty bool) {
		switch {
		case !empty:
			doc[name] = value
		case all:
			doc[name] = nil
		}
	}
	set("title", f.Title, f.Title == "")
	set("expired_url", f.ExpiredURL, f.ExpiredURL == "")
	for name, text := range map[string]string{"starts_at": f.StartsAt, "expires_at": f.ExpiresAt} {
		value, bad := moment(name, text)
		if bad != nil {
			return nil, bad
		}
		set(name, value, value == nil)
	}
	if n, err := strconv.ParseInt(f.MaxClicks, 10, 64); err == nil {
		set("max_clicks", n, false)
	} else if f.MaxClicks != "" {
		return nil, &problem{
			Status: http.StatusUnprocessableEntity, Field: "max_clicks",
			Detail: fmt.Sprintf("%q is not a number", f.MaxClicks),
		}
	} else {
		set("max_clicks", nil, true)
	}
	if n, err := strconv.Atoi(f.Status); err == nil {
		doc["status"] = n
	}
	tags := []string{}
	for _, tag := range strings.Split(f.Tags, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	if len(tags) > 0 || all {
		doc["tags"] = tags
	}
	if all {
		doc["enabled"], doc["pass_query"], doc["pass_path"] = f.Enabled, f.PassQuery, f.PassPath
	}
	return doc, nil
}

// create makes a link of the form on /+. What is refused comes back with all that
// was typed; a code that is taken is shown and never overwritten.
func (p *Page) create(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r) {
		return
	}
	f := formOf(r.PostForm)
	if offer := r.PostForm.Get("offer"); offer != "" {
		f.URL = offer
	}
	doc, bad := f.document(false)
	if bad == nil {
		if f.Code != "" {
			doc["code"] = f.Code
		}
		if f.Reuse {
			doc["reuse"] = true
		}
		var made link
		_, bad = p.ask(r, call{method: http.MethodPost, path: "/api/v1/links", body: doc}, &made)
		if bad == nil {
			http.Redirect(w, r, "/+?made="+url.QueryEscape(made.Code), http.StatusSeeOther)
			return
		}
	}
	if bad.Status == http.StatusUnauthorized {
		p.signIn(w, r, "/+", "Making a link needs a key.")
		return
	}
	p.list(w, r, bad.Status, listView{Form: f, Problem: spoken(bad), Offer: offered(f.URL, bad)})
}

// offered returns the target that somebody has probably meant who typed one without
// its scheme: example.com/page. "" is none.
func offered(typed string, bad *problem) string {
	typed = strings.TrimSpace(typed)
	host, _, _ := strings.Cut(typed, "/")
	odd := strings.Contains(typed, "://") || strings.ContainsAny(typed, " \t\\@")
	if bad.Field != "url" || odd || !strings.Contains(host, ".") || strings.HasPrefix(host, ".") {
		return ""
	}
	return "https://" + typed
}

// names are what people call the members of a link.
var names = map[string]string{
	"url": "The long URL", "code": "The code", "title": "The title", "tags": "The tags",
	"expires_at": "The expiry", "starts_at": "The beginning", "max_clicks": "Clicks at most",
	"expired_url": "The address for afterwards", "status": "The redirect",
}

// spoken returns a problem with its member called what the form calls it: "The long
// URL: it has no host."
func spoken(bad *problem) *problem {
	rest, ok := strings.CutPrefix(bad.Detail, bad.Field+": ")
	if name := names[bad.Field]; ok && name != "" {
		bad.Detail = name + ": " + rest + "."
	}
	return bad
}
