package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A link is one as the API shows it.
type link struct {
	Code        string     `json:"code"`
	ShortURL    string     `json:"short_url"`
	URL         string     `json:"url"`
	Status      int        `json:"status"`
	Title       string     `json:"title"`
	Tags        []string   `json:"tags"`
	Enabled     bool       `json:"enabled"`
	PassQuery   bool       `json:"pass_query"`
	PassPath    bool       `json:"pass_path"`
	StartsAt    *time.Time `json:"starts_at"`
	ExpiresAt   *time.Time `json:"expires_at"`
	ExpiredURL  string     `json:"expired_url"`
	MaxClicks   int64      `json:"max_clicks"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	Clicks      int64      `json:"clicks"`
	Bots        int64      `json:"bots"`
	LastClickAt *time.Time `json:"last_click_at"`
	State       string     `json:"state"`
}

// Mark returns what a link is marked with that leads nowhere now, and "" for one
// that does.
func (l link) Mark() string {
	return map[string]string{"off": "off", "scheduled": "scheduled", "expired": "expired",
		"used": "used up"}[l.State]
}

// used returns how many of its clicks it has had: "7 of 10".
func (l link) used() string {
	text := count(l.Clicks) + " of " + count(l.MaxClicks)
	if l.State == "used" {
		text += ", used up"
	}
	return text
}

// stats are a series of counts and what they are made of.
type stats struct {
	From  string                `json:"from"`
	To    string                `json:"to"`
	Unit  string                `json:"unit"`
	Total totals                `json:"total"`
	Rows  []bucket              `json:"series"`
	By    map[string][]dimCount `json:"by"`
}

// totals are the counts of a whole series.
type totals struct {
	Clicks   int64 `json:"clicks"`
	Bots     int64 `json:"bots"`
	Visitors int64 `json:"visitors"`
}

// A bucket is the counts of an hour, a day or a month: ["2026-11-14",1500,90,1211].
type bucket struct {
	At                     string
	Clicks, Bots, Visitors int64
}

// UnmarshalJSON reads the array that a bucket is in JSON.
func (b *bucket) UnmarshalJSON(text []byte) error {
	return unmarshalTuple(text, &b.At, &b.Clicks, &b.Bots, &b.Visitors)
}

// A dimCount says how often a value occurred: ["DE",4120].
type dimCount struct {
	Value  string
	Clicks int64
}

// UnmarshalJSON reads the array that a dimCount is in JSON.
func (d *dimCount) UnmarshalJSON(text []byte) error {
	return unmarshalTuple(text, &d.Value, &d.Clicks)
}

// unmarshalTuple reads an array of known length.
func unmarshalTuple(text []byte, into ...any) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) < len(into) {
		return fmt.Errorf("an array of %d where %d are due", len(parts), len(into))
	}
	for i := range into {
		if err := json.Unmarshal(parts[i], into[i]); err != nil {
			return err
		}
	}
	return nil
}

// A problem is what the API answers instead (RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Field  string `json:"field"`
}

// say returns what a visitor is told.
func (p *problem) say() string {
	if p.Detail != "" {
		return p.Detail
	}
	if p.Title != "" {
		return p.Title
	}
	return http.StatusText(p.Status)
}

// heading returns what a visitor is told first.
func (p *problem) heading() string {
	if p.Status == http.StatusConflict {
		return "Code already in use"
	}
	return cmp.Or(p.Title, "Refused")
}

// isOf reports whether it is about that field of a form. A nil problem is about none.
func (p *problem) isOf(field string) bool { return p != nil && p.Field == field }

// keyless reports whether another key would help.
func (p *problem) keyless() bool {
	return p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden
}

// A call is one request to the API on behalf of a visitor.
type call struct {
	method, path string
	body         any // JSON, unless it is a []byte
	mediaType    string
	ifMatch      string
}

// ask makes a call and reads the answer into into, which may be nil. A problem
// is returned for every status but 2xx.
func (p *Page) ask(r *http.Request, c call, into any) (http.Header, *problem) {
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	req, err := p.request(r, c)
	if err != nil {
		return nil, &problem{Status: http.StatusInternalServerError, Detail: err.Error()}
	}
	p.o.API.ServeHTTP(rec, req)
	if rec.status/100 != 2 {
		bad := &problem{Status: rec.status}
		_ = json.Unmarshal(rec.body.Bytes(), bad) // what is no problem document is a bare status
		bad.Status = rec.status
		return rec.header, bad
	}
	if into != nil {
		if err := json.Unmarshal(rec.body.Bytes(), into); err != nil {
			return nil, &problem{
				Status: http.StatusBadGateway,
				Detail: "the API's answer cannot be read: " + err.Error(),
			}
		}
	}
	return rec.header, nil
}

// get is ask for what a page can do without; it returns the status.
func (p *Page) get(r *http.Request, path string, into any) int {
	if _, bad := p.ask(r, call{method: http.MethodGet, path: path}, into); bad != nil {
		return bad.Status
	}
	return http.StatusOK
}

// request returns the request of a call: the visitor's address and key, and what
// proxies have written into the visitor's request, by which the API sees that it
// was not made on this machine.
func (p *Page) request(r *http.Request, c call) (*http.Request, error) {
	body, ok := c.body.([]byte)
	if !ok && c.body != nil {
		var err error
		if body, err = json.Marshal(c.body); err != nil {
			return nil, err
		}
	}
	target, err := url.Parse(c.path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(r.Context(), c.method, target.String(),
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Host, req.RemoteAddr, req.TLS = r.Host, r.RemoteAddr, r.TLS
	req.RequestURI = target.RequestURI()
	for name, values := range authorized(r).Header {
		if !isBrowsers(name) {
			req.Header[name] = values
		}
	}
	req.Header.Set("Accept", "application/json")
	if c.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.mediaType != "" {
		req.Header.Set("Content-Type", c.mediaType)
	}
	if c.ifMatch != "" {
		req.Header.Set("If-Match", c.ifMatch)
	}
	return req, nil
}

// isBrowsers reports whether a header speaks of the page that a browser wants, not
// of the call to the API that the page makes.
func isBrowsers(name string) bool {
	for _, of := range []string{"Accept", "Content-", "If-", "Sec-", "Cookie", "Range", "Origin"} {
		if strings.HasPrefix(name, of) {
			return true
		}
	}
	return false
}

// A recorder keeps an answer of the API.
type recorder struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.wrote = true
	return w.body.Write(p)
}
